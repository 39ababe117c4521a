package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Numbers by index, of which most are 0. */
class PagedLongsTest {
  private static final int LENGTH = 5 * 512 + 3;

  @Test
  void shouldReturnWhatWasSetLastAtEachIndex() {
    final PagedLongs numbers = new PagedLongs(LENGTH);
    final long[] expected = new long[LENGTH];
    final Random random = new Random(1);
    for (int i = 0; i < LENGTH; i++) {
      final int index = random.nextInt(LENGTH);
      expected[index] = random.nextInt(3) == 0 ? 0 : random.nextLong();
      numbers.set(index, expected[index]);
    }
    for (int index = 0; index < LENGTH; index++) {
      assertEquals(expected[index], numbers.get(index), "index " + index);
    }
    assertEquals(LENGTH, numbers.length());
  }

  @Test
  void shouldForgetANumberThatIsSetToZero() {
    final PagedLongs numbers = new PagedLongs(LENGTH);
    numbers.set(LENGTH - 1, -1);
    numbers.set(LENGTH - 1, 0);
    assertEquals(0, numbers.get(LENGTH - 1));
  }

  @Test
  void shouldRefuseAnIndexBeyondTheLastPage() {
    final PagedLongs numbers = new PagedLongs(LENGTH);
    assertThrows(IndexOutOfBoundsException.class, () -> numbers.get(6 * 512));
    assertThrows(IndexOutOfBoundsException.class, () -> numbers.set(-1, 1));
  }

  @Test
  void shouldTakeMemoryForPagesInUseAlone() {
    final PagedLongs numbers = new PagedLongs(1 << 20);
    numbers.set(0, 1);
    final long allocated =
        HeapAllocation.of(
            1,
            () -> {
              for (int index = 512; index < 1 << 20; index++) {
                numbers.set(index, 0);
              }
              numbers.set(1, 2);
            });
    assertTrue(allocated < 512 * Long.BYTES, allocated + " bytes");
  }
}
