package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReadAheadLimitTest {
  private static EmbeddedSocket socket(long mostBytes) {
    final EmbeddedSocket socket = new EmbeddedSocket();
    socket.pipeline().addFirst(new ReadAheadLimit(mostBytes));
    return socket;
  }

  private static String next(EmbeddedSocket socket) {
    final ByteBuf bytes = socket.readInbound();
    final String text = bytes.toString(StandardCharsets.ISO_8859_1);
    bytes.release();
    return text;
  }

  @Test
  void shouldCloseOnWhatIsNotAskedForWhereTheBuffersAreFull() {
    final EmbeddedSocket socket = socket(-1);
    socket.read();
    socket.receive("asked");
    assertEquals("asked", next(socket));
    assertTrue(socket.isOpen());
    final ByteBuf unrequested = Unpooled.copiedBuffer("unrequested", StandardCharsets.ISO_8859_1);
    socket.writeInbound(unrequested);
    assertEquals(0, unrequested.refCnt(), "what is dropped is given back");
    assertTrue(socket.inboundMessages().isEmpty());
    assertFalse(socket.isOpen());
    assertEquals(0, socket.lingerSec);
  }

  @Test
  void shouldPassWhatIsNotAskedForWhileThereIsRoom() {
    final EmbeddedSocket socket = socket(Long.MAX_VALUE);
    socket.receive("unrequested");
    assertEquals("unrequested", next(socket));
    assertTrue(socket.isOpen());
  }

  @ParameterizedTest
  @CsvSource({"100, true", "99, false"})
  void shouldMeasureTheBuffersOfAllConnections(long mostBytes, boolean isOpen) {
    final EmbeddedSocket socket = socket(mostBytes);
    final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    socket.config().setAllocator(allocator);
    final ByteBuf held = allocator.directBuffer(100);
    socket.receive("unrequested");
    assertEquals(isOpen, socket.isOpen());
    held.release();
  }

  @Test
  void shouldPassWhatIsReadWithoutBeingAskedFor() {
    final EmbeddedSocket socket = socket(-1);
    socket.config().setAutoRead(true);
    socket.receive("a");
    socket.receive("b");
    assertEquals("ab", next(socket) + next(socket));
    assertTrue(socket.isOpen());
  }
}
