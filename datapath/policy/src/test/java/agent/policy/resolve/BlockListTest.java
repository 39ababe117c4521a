package agent.policy.resolve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class BlockListTest {
  private static List<Integer> numbers(int count) {
    return IntStream.range(0, count).boxed().toList();
  }

  /** Elements are objects of their own, so that a list that repeats or swaps some is found. */
  @RepeatedTest(20)
  void shouldHoldWhatAListHoldsAfterTheSameReplacements(RepetitionInfo repetition) {
    final Random random = new Random(repetition.getCurrentRepetition());
    final int largest = List.of(3, 300, 3_000).get(repetition.getCurrentRepetition() % 3);
    List<Integer> expected = new ArrayList<>(numbers(random.nextInt(largest)));
    BlockList<Integer> actual = BlockList.of(expected);
    for (int i = 0; i < 400; i++) {
      final int from = random.nextInt(expected.size() + 1);
      final int most = random.nextInt(10) == 0 ? expected.size() - from : 5;
      final int to = from + random.nextInt(Math.min(most, expected.size() - from) + 1);
      final int added = expected.size() > largest ? 0 : random.nextInt(5);
      final List<Integer> others = new Random(i).ints(added).boxed().toList();
      final BlockList<Integer> before = actual;
      final List<Integer> wanted = new ArrayList<>(expected);
      wanted.subList(from, to).clear();
      wanted.addAll(from, others);
      actual = before.replaced(from, to, others);
      assertEquals(wanted, actual);
      assertEquals(wanted.size(), actual.size());
      assertEquals(expected, before);
      expected = wanted;
    }
  }

  @Test
  void shouldBeTheSameWhereNothingIsReplaced() {
    final BlockList<Integer> list = BlockList.of(numbers(1_000));
    assertSame(list, list.replaced(500, 500, List.of()));
    assertSame(list, BlockList.of(list));
  }

  @Test
  void shouldRefuseAnIndexOutside() {
    final BlockList<Integer> list = BlockList.of(numbers(2));
    assertThrows(IndexOutOfBoundsException.class, () -> list.get(-1));
    assertThrows(IndexOutOfBoundsException.class, () -> list.get(2));
    assertEquals(1, list.get(1));
  }

  /** A change of thousands copies the elements of few blocks. */
  @Test
  void shouldAllocateLittleForAChangeOfALongList() {
    final BlockList<Integer> list = BlockList.of(numbers(100_000));
    assertTrue(allocatedByAChange(list) < 10_000);
  }

  private static long allocatedByAChange(BlockList<Integer> list) {
    final List<Integer> one = List.of(7);
    assertEquals(7, list.replaced(3, 3, one).get(3)); // loads classes
    final var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    final long before = threads.getCurrentThreadAllocatedBytes();
    list.replaced(list.size() / 2, list.size() / 2 + 1, one);
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  /** Small blocks are put together, or a list would become one of blocks with one element. */
  @Test
  void shouldNotFallIntoManySmallBlocks() {
    BlockList<Integer> list = BlockList.of(numbers(128 * 1_000));
    for (int at = 1; at < list.size(); at++) {
      list = list.replaced(at, at + 127, List.of());
    }
    assertEquals(1_000, list.size());
    final long allocated = allocatedByAChange(list);
    assertTrue(allocated < 5_000, allocated + " bytes");
  }
}
