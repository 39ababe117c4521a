package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.request.HttpVerdict;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The connection of a client of HTTP/2 in memory: when it is idle, and what it keeps. */
class Http2ConnectionTest {
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  private static final String SETTINGS = "\0\0\0\4\0\0\0\0\0";

  /** A GET of /x of a.test, which ends its stream. */
  private static final String GET =
      "\0\0\16\1\5\0\0\0\3" + "\u0082\u0086" + "\4\2/x" + "\101\6a.test";

  private final ExchangeBench bench =
      new ExchangeBench(
          context ->
              context.idleTimeout(Duration.ofSeconds(10)).headTimeout(Duration.ofSeconds(5)));
  private final ClientConnection connection = bench.connection;
  private final EmbeddedSocket client = bench.client;

  @BeforeEach
  void connect() {
    bench.removeHttp1();
    connection.protocol(client, true);
  }

  private long tableBytes() {
    return client
        .pipeline()
        .get(Http2FrameCodec.class)
        .encoder()
        .configuration()
        .headersConfiguration()
        .maxHeaderTableSize();
  }

  @Test
  void shouldBeIdleUntilAStreamIsOpen() {
    final List<String> seen = new ArrayList<>();
    bench.rule =
        request -> {
          seen.add(request.path() + " " + connection.idle().isRunning());
          return HttpVerdict.DENIED;
        };
    Http2Connection.start(client, connection);
    assertTrue(connection.idle().isRunning());
    client.receive(PREFACE + SETTINGS + GET);
    assertEquals(List.of("/x false"), seen);
    assertTrue(connection.idle().isRunning(), "the stream has ended");
    client.pass(10_000);
    assertFalse(client.isOpen());
  }

  /** RFC 9113 section 6.5.2. */
  @Test
  void shouldTakeAHundredStreamsAtATime() {
    Http2Connection.start(client, connection);
    client.receive(PREFACE + SETTINGS);
    final String settings = client.sent();
    assertTrue(settings.contains("\0\3\0\0\0" + (char) 100), settings);
  }

  /** The library limits what the compression of responses keeps (RFC 7541). */
  @ParameterizedTest
  @CsvSource({"4294967295, 4096", "100000, 4096", "4097, 4096", "4096, 4096", "1000, 1000"})
  void shouldKeepASmallTableHoweverMuchTheClientOffers(long offered, long kept) {
    Http2Connection.start(client, connection);
    final String value =
        new String(
            new char[] {
              (char) (offered >>> 24 & 0xff),
              (char) (offered >>> 16 & 0xff),
              (char) (offered >>> 8 & 0xff),
              (char) (offered & 0xff)
            });
    client.receive(PREFACE + "\0\0\6\4\0\0\0\0\0" + "\0\1" + value);
    assertEquals(kept, tableBytes());
  }

  @Test
  void shouldLimitThePrefaceAndTheTableAfterAnUpgrade() throws Exception {
    Http2Connection.upgrade(client, connection, new Http2Settings().headerTableSize(100_000));
    assertEquals(4096, tableBytes());
    assertTrue(connection.head().isRunning());
    client.sent();
    client.pass(4_999);
    assertEquals("", client.sent());
    client.pass(1);
    assertTrue(client.sent().startsWith("\0\0\10\7"), "GOAWAY");
  }
}
