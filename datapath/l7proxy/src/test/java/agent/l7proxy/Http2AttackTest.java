package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Frames that no client of HTTP/2 sends, or so many of them; the server sees none of it. */
class Http2AttackTest {
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  private static final int HEADERS = 1;
  private static final int PRIORITY = 2;
  private static final int RST_STREAM = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int CONTINUATION = 9;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;
  private static final int MANY = 20_000;
  private static final long DEADLINE_SEC = 20;

  private Http2Server server;
  private ProxyBench bench;
  private HttpSocket client;

  @BeforeEach
  void start() throws IOException {
    server = new Http2Server();
    bench = new ProxyBench(server.port());
    client = bench.client();
    client.send(PREFACE).send(frame(SETTINGS, 0, 0, new byte[0]));
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    bench.close();
    server.close();
  }

  private static byte[] frame(int type, int flags, int stream, byte[] payload) {
    final ByteBuf frame = Unpooled.buffer();
    frame.writeMedium(payload.length).writeByte(type).writeByte(flags).writeInt(stream);
    frame.writeBytes(payload);
    final byte[] bytes = new byte[frame.readableBytes()];
    frame.readBytes(bytes);
    return bytes;
  }

  /** Fields as name=value, separated by blanks, each a literal that is not indexed. */
  private static byte[] fields(String text) {
    final ByteBuf block = Unpooled.buffer();
    for (final String field : text.split(" ")) {
      final int end = field.indexOf('=', 1);
      block.writeByte(0);
      literal(block, field.substring(0, end));
      literal(block, field.substring(end + 1));
    }
    final byte[] bytes = new byte[block.readableBytes()];
    block.readBytes(bytes);
    return bytes;
  }

  private static void literal(ByteBuf block, String text) {
    final byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    block.writeByte(bytes.length).writeBytes(bytes);
  }

  private static final String GET = ":method=GET :scheme=http :path=/x :authority=a.test";

  /**
   * Sends a frame so often, or until the proxy has ended the connection; returns whether it has.
   */
  private boolean isEndedBy(int count, byte[] frame) throws IOException {
    try {
      for (int i = 0; i < count; i++) {
        client.send(frame);
      }
      return false;
    } catch (SocketException ended) {
      return true;
    }
  }

  /** A client that is faster than the proxy has sent all before it learns of the end. */
  @Test
  void shouldEndAConnectionThatResetsItsStreamsAtOnce() throws Exception {
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SEC);
    boolean isEnded = false;
    for (int stream = 1; System.nanoTime() < end && !isEnded; stream += 2) {
      try {
        client.send(frame(HEADERS, END_STREAM | END_HEADERS, stream, fields(GET)));
        client.send(frame(RST_STREAM, 0, stream, new byte[] {0, 0, 0, 8}));
        if (stream > 2 * MANY) {
          Thread.sleep(1);
        }
      } catch (SocketException ended) {
        isEnded = true;
      }
    }
    assertTrue(isEnded);
    assertTrue(bench.judged.size() < 1000, () -> bench.judged.size() + " judged");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 64, 16_000})
  void shouldEndAConnectionWhoseFieldsHaveNoEnd(int length) throws Exception {
    client.send(frame(HEADERS, END_STREAM, 1, fields(GET)));
    final ByteBuf field = Unpooled.buffer();
    while (field.readableBytes() + 8 < length) {
      field.writeByte(0);
      literal(field, "x");
      literal(field, "y");
    }
    final byte[] payload = new byte[length];
    field.readBytes(payload, 0, field.readableBytes());
    boolean isEnded = isEndedBy(MANY, frame(CONTINUATION, 0, 1, payload));
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SEC);
    while (!isEnded && System.nanoTime() < end) { // a faster client has sent all by then
      Thread.sleep(1);
      isEnded = isEndedBy(1, frame(CONTINUATION, 0, 1, payload));
    }
    assertTrue(isEnded);
    assertEquals(List.of(), bench.judged);
  }

  @ParameterizedTest
  @ValueSource(ints = {PING, SETTINGS})
  void shouldNotQueueAnswersWithoutEnd(int type) throws IOException {
    client.socket.setReceiveBufferSize(1024);
    isEndedBy(MANY, frame(type, 0, 0, new byte[type == PING ? 8 : 0]));
    assertTrue(bench.proxy.bufferBytes() < 32 << 20, () -> bench.proxy.bufferBytes() + " bytes");
  }

  @Test
  void shouldServeAfterPriorities() throws IOException {
    for (int i = 0; i < 1000; i++) {
      client.send(frame(PRIORITY, 0, 2 * i + 101, new byte[] {0, 0, 0, 0, 1}));
    }
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, fields(GET)));
    assertEquals("1", answered(1));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        GET + " :path=/y",
        ":path=/y " + GET,
        GET + " :method=PUT",
        GET + " :authority=b.test",
        GET + " host=b.test",
        ":method=GET :scheme=http :path=/x a=b :authority=a.test",
        "a=b " + GET,
        GET + " :status=200",
        GET + " :x=y",
        ":method=GET :scheme=http :authority=a.test",
        ":scheme=http :path=/x :authority=a.test",
        ":method=GET :path=/x :authority=a.test",
        ":method=GET :scheme=http :path= :authority=a.test",
        GET + " connection=close",
        GET + " transfer-encoding=chunked",
        GET + " te=gzip",
        GET + " X=y",
        GET + " content-length=1",
        GET + " content-length=0 content-length=1"
      })
  void shouldRefuseFieldsThatAreNoRequest(String fields) throws IOException {
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, fields(fields)));
    assertTrue(List.of("400", "reset", "end").contains(answered(1)));
    assertEquals(List.of(), server.requests);
    assertEquals(List.of(), bench.judged);
  }

  /** Returns what becomes of a stream: 1 for a response of status 200, or 400, reset or end. */
  private String answered(int stream) throws IOException {
    try {
      while (true) {
        final ByteBuf head = Unpooled.wrappedBuffer(client.exactly(9));
        final int length = head.readUnsignedMedium();
        final int type = head.readByte();
        head.skipBytes(1);
        final int of = head.readInt();
        final byte[] payload = client.exactly(length);
        if (of == stream && type == RST_STREAM) {
          return "reset";
        }
        if (of == stream && type == HEADERS) {
          final int first = payload[0] & 0xff;
          return first == 0x88 ? "1" : first == 0x8c ? "400" : "status " + first;
        }
      }
    } catch (IOException ended) {
      return "end";
    }
  }
}
