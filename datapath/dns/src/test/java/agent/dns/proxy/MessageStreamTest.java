package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages with their lengths, over a pair of sockets. */
@Timeout(20)
class MessageStreamTest {
  private static final int FIRST_BYTES = 1_024;

  @TempDir private Path folder;
  private final MessageStream in = new MessageStream();
  private final MessageStream out = new MessageStream();
  private SocketChannel reader;
  private SocketChannel writer;

  @BeforeEach
  void open() throws IOException {
    final UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("s"));
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      writer = SocketChannel.open(address);
      reader = server.accept();
    }
    reader.configureBlocking(false);
    writer.configureBlocking(false);
  }

  @AfterEach
  void close() throws IOException {
    reader.close();
    writer.close();
  }

  private static byte[] message(int length) {
    final byte[] message = new byte[length];
    new Random(length).nextBytes(message);
    return message;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 255, 256, FIRST_BYTES - 2, FIRST_BYTES - 1, 3_000, 65_535})
  void shouldPassMessagesOfAnyLength(int length) throws IOException {
    for (int i = 0; i < 3; i++) {
      out.add(message(length));
      assertEquals(length + 2, out.queuedBytes());
      byte[] got = null;
      while (got == null) {
        out.write(writer);
        assertTrue(in.read(reader));
        assertEquals(in.hasMessage(), (got = in.next()) != null);
      }
      assertArrayEquals(message(length), got);
      assertEquals(0, out.queuedBytes());
      assertNull(in.next());
      assertFalse(in.hasMessage());
    }
  }

  @Test
  void shouldPassManyMessagesThatComeTogether() throws IOException {
    for (int i = 0; i < 300; i++) {
      out.add(message(i));
    }
    int next = 0;
    while (next < 300) {
      out.write(writer);
      assertTrue(in.read(reader));
      for (byte[] got = in.next(); got != null; got = in.next()) {
        assertArrayEquals(message(next), got);
        next++;
      }
    }
  }

  @Test
  void shouldWaitForTheRestOfAMessageAndOfItsLength() throws IOException {
    for (final byte one : new byte[] {0, 3, 'a', 'b', 'c'}) {
      assertFalse(in.hasMessage());
      assertNull(in.next());
      writer.write(ByteBuffer.wrap(new byte[] {one}));
      assertTrue(in.read(reader));
    }
    assertArrayEquals(new byte[] {'a', 'b', 'c'}, in.next());
    assertTrue(in.read(reader), "nothing has come");
    assertFalse(in.hasMessage());
  }

  @Test
  void shouldSayThatTheStreamHasEndedBehindItsMessages() throws IOException {
    out.add(message(5));
    out.write(writer);
    writer.shutdownOutput();
    assertTrue(in.read(reader));
    assertFalse(in.read(reader));
    assertArrayEquals(message(5), in.next());
    assertFalse(in.read(reader));
    assertFalse(in.hasMessage());
  }

  /** What a long message needs is given back when it is taken. */
  @Test
  void shouldReadNoMoreAtOnceAfterALongMessageThanBefore() throws IOException {
    out.add(message(60_000));
    while (in.next() == null) {
      out.write(writer);
      in.read(reader);
    }
    out.add(message(FIRST_BYTES - 100));
    out.add(message(200));
    out.write(writer);
    in.read(reader);
    assertArrayEquals(message(FIRST_BYTES - 100), in.next());
    assertFalse(in.hasMessage());
    in.read(reader);
    assertArrayEquals(message(200), in.next());
  }

  @Test
  void shouldCountWhatASlowReaderLeaves() throws IOException {
    final int length = 60_000;
    for (int i = 0; i < 100; i++) {
      out.add(message(length));
    }
    assertEquals(100 * (length + 2), out.queuedBytes());
    out.write(writer);
    final int left = out.queuedBytes();
    assertTrue(left > 0 && left < 100 * (length + 2));
    int read = 0;
    while (read < 100) {
      out.write(writer);
      in.read(reader);
      for (byte[] got = in.next(); got != null; got = in.next()) {
        assertArrayEquals(message(length), got);
        read++;
      }
    }
    assertEquals(0, out.queuedBytes());
  }
}
