package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** The writes that come out of the ring are those that went in, in their order. */
class WriteRingTest {
  private final WriteRing ring = new WriteRing();
  private final List<String> seen = new ArrayList<>();
  private final MessageHandler handler =
      (type, buffer, index, length) -> {
        final int keySize = buffer.getInt(index + WriteRing.KEY_SIZE_OFFSET);
        final int keyAt = index + WriteRing.KEY_OFFSET;
        final int valueSize = length - WriteRing.KEY_OFFSET - keySize;
        seen.add(
            (type == WriteRing.UPDATE ? "update " : "delete ")
                + buffer.getInt(index)
                + " "
                + buffer.getStringWithoutLengthAscii(keyAt, keySize)
                + "="
                + buffer.getStringWithoutLengthAscii(keyAt + keySize, valueSize));
      };

  private static UnsafeBuffer bytes(String text) {
    return new UnsafeBuffer(text.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
  }

  @Test
  void shouldPassOnUpdatesAndDeletesInTheirOrder() {
    assertTrue(ring.note(3, bytes("key"), bytes("a value")));
    assertTrue(ring.note(-4, bytes("another key"), null));
    assertTrue(ring.note(5, bytes("k"), bytes("")));
    assertEquals(2, ring.drain(handler, 2));
    assertEquals(List.of("update 3 key=a value", "delete -4 another key="), seen);
    assertEquals(1, ring.drain(handler, 2));
    assertEquals("update 5 k=", seen.getLast());
    assertEquals(0, ring.drain(handler, 2));
  }

  @Test
  void shouldTellWhenTheWritesBeforeAPositionHaveBeenHandled() {
    assertTrue(ring.isDrained(ring.end()));
    ring.note(1, bytes("a"), null);
    final long first = ring.end();
    ring.note(1, bytes("b"), null);
    final long second = ring.end();
    assertTrue(second > first);
    assertFalse(ring.isDrained(first));
    ring.drain(handler, 1);
    assertTrue(ring.isDrained(first));
    assertFalse(ring.isDrained(second));
    ring.drain(handler, 1);
    assertTrue(ring.isDrained(second));
  }

  @Test
  void shouldRefuseAWriteWhereItIsFull() {
    int noted = 0;
    while (ring.note(1, bytes("0123456789abcdef"), bytes("01234567"))) {
      noted++;
    }
    assertTrue(noted > 10_000 && noted < WriteRing.CAPACITY_BYTES / 24, "noted " + noted);
    assertEquals(1, ring.drain(handler, 1));
    assertTrue(ring.note(1, bytes("0123456789abcdef"), bytes("01234567")));
    assertFalse(ring.note(1, bytes("0123456789abcdef"), bytes("01234567")));
  }
}
