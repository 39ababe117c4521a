package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.bindings.Errno;
import agent.maps.mirror.UnrealisedWrites.Write;
import java.nio.ByteBuffer;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** Which refused writes are remembered, in which order, and until when. */
class UnrealisedWritesTest {
  private static final int MAP = 7;
  private static final int OTHER_MAP = 8;

  private final UnrealisedWrites writes = new UnrealisedWrites();

  private static UnsafeBuffer bytes(int number) {
    return new UnsafeBuffer(ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
  }

  private static List<Integer> keys(List<Write> writes) {
    return writes.stream().map(write -> ByteBuffer.wrap(write.key()).getInt()).toList();
  }

  @Test
  void shouldRememberTheOperationTheBytesAndTheErrorOfARefusedWrite() {
    writes.refused(MAP, bytes(1), bytes(10), Errno.ENOSPC);
    writes.refused(MAP, bytes(2), null, Errno.ENOMEM);
    final Write update = writes.all().get(0);
    final Write delete = writes.all().get(1);
    assertEquals(MAP, update.serial());
    assertArrayEquals(new byte[] {0, 0, 0, 1}, update.key());
    assertArrayEquals(new byte[] {0, 0, 0, 10}, update.value());
    assertEquals("update: ENOSPC", update.error());
    assertNull(delete.value());
    assertEquals("delete: ENOMEM", delete.error());
    assertEquals(2, writes.size());
  }

  @Test
  void shouldHoldTheLastWriteOfAKeyInTheOrderOfTheFirst() {
    writes.refused(MAP, bytes(1), bytes(10), Errno.ENOSPC);
    writes.refused(MAP, bytes(2), bytes(20), Errno.ENOSPC);
    writes.refused(OTHER_MAP, bytes(1), bytes(30), Errno.ENOSPC);
    writes.refused(MAP, bytes(1), null, Errno.ENOMEM);
    assertEquals(3, writes.size());
    assertEquals(List.of(1, 2, 1), keys(writes.all()));
    assertEquals("delete: ENOMEM", writes.all().getFirst().error());
    assertEquals(List.of(1, 2), keys(writes.ofMap(MAP)));
    assertEquals(List.of(1), keys(writes.ofMap(OTHER_MAP)));
    assertEquals(List.of(), writes.ofMap(9));
  }

  @Test
  void shouldForgetAWriteThatTheKernelHasTakenSince() {
    writes.realised(MAP, bytes(1));
    assertEquals(List.of(), writes.ofMap(MAP));
    writes.refused(MAP, bytes(1), bytes(10), Errno.ENOSPC);
    writes.refused(MAP, bytes(2), bytes(20), Errno.ENOSPC);
    writes.realised(OTHER_MAP, bytes(1));
    assertEquals(2, writes.size());
    writes.realised(MAP, bytes(1));
    assertEquals(List.of(2), keys(writes.all()));
    assertEquals(1, writes.size());
    writes.realised(MAP, bytes(2));
    assertEquals(0, writes.size());
    assertEquals(List.of(), writes.all());
  }

  @Test
  void shouldForgetTheWritesOfOneMap() {
    writes.forgetMap(MAP);
    writes.refused(MAP, bytes(1), bytes(10), Errno.ENOSPC);
    writes.refused(OTHER_MAP, bytes(2), bytes(20), Errno.ENOSPC);
    writes.refused(MAP, bytes(3), bytes(30), Errno.ENOSPC);
    writes.forgetMap(MAP);
    assertEquals(List.of(2), keys(writes.all()));
    assertEquals(1, writes.size());
    writes.forgetMap(OTHER_MAP);
    assertEquals(0, writes.size());
  }

  @Test
  void shouldRememberNoMoreThanItsLimitAndStillTheLastWriteOfEachKey() {
    final int limit = 65_536;
    for (int key = 0; key < limit + 2; key++) {
      writes.refused(MAP, bytes(key), bytes(1), Errno.ENOSPC);
    }
    assertEquals(limit, writes.size());
    assertEquals(limit - 1, keys(writes.all()).getLast());
    writes.refused(MAP, bytes(5), null, Errno.ENOMEM);
    assertEquals("delete: ENOMEM", writes.all().get(5).error());
    assertEquals(limit, writes.size());
  }

  @Test
  void shouldNameTheActionThatIsMissingAsTheApiDoes() {
    assertEquals("ok", MapVisitor.DesiredAction.OK.text());
    assertEquals("insert", MapVisitor.DesiredAction.INSERT.text());
    assertEquals("delete", MapVisitor.DesiredAction.DELETE.text());
  }
}
