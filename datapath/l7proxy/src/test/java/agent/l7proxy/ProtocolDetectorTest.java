package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2FrameCodec;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the first bytes of a connection say, and how long they may take. */
class ProtocolDetectorTest {
  private static final String PREFACE = "PRI * HTTP/2.0\r\n";

  private final ExchangeBench bench = new ExchangeBench();
  private final EmbeddedSocket client = bench.client;

  @BeforeEach
  void connect() {
    bench.removeHttp1();
    client.pipeline().addLast(new ProtocolDetector(bench.connection));
    client.newReads();
    client.pipeline().fireChannelActive();
  }

  private boolean isDetected() {
    return client.pipeline().get(ProtocolDetector.class) == null;
  }

  @Test
  void shouldSpeakHttp1FromTheFirstByteThatIsNotOfThePreface() {
    client.receive("P");
    assertFalse(isDetected());
    client.receive("U");
    assertTrue(isDetected());
    assertFalse(bench.connection.upstream().isHttp2());
    final EmbeddedSocket server = bench.server();
    client.receive("T /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
    assertTrue(server.sent().startsWith("PUT /x HTTP/1.1\r\n"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET / HTTP/1.0\r\n\r\n", "PRI * HTTP/2.1\r\n\r\n"})
  void shouldReadWhatCameWithTheFirstBytes(String request) {
    client.receive(request);
    assertTrue(isDetected());
    assertEquals(1, bench.records.size());
  }

  @Test
  void shouldSpeakHttp2AfterThePreface() {
    for (int i = 0; i < PREFACE.length(); i++) {
      assertFalse(isDetected());
      client.receive(PREFACE.substring(i, i + 1));
    }
    assertTrue(isDetected());
    assertTrue(bench.connection.upstream().isHttp2());
    assertNotNull(client.pipeline().get(Http2FrameCodec.class));
    assertNull(client.pipeline().get(RequestDecoder.class));
    client.receive("\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");
    assertTrue(client.isOpen());
    assertEquals(4, client.sent().charAt(3), "SETTINGS");
  }

  @Test
  void shouldAskForTheFirstBytesAndCloseWhereTheyDoNotComeInTime() {
    assertEquals(1, client.newReads());
    assertTrue(bench.connection.head().isRunning());
    client.receive("PRI");
    client.pass(29_999);
    assertTrue(client.isOpen());
    client.pass(1);
    assertFalse(client.isOpen());
  }

  @Test
  void shouldTellTheHandlersBehindItOfTheConnection() {
    final List<String> passed = new ArrayList<>();
    client
        .pipeline()
        .addLast(
            new ChannelInboundHandlerAdapter() {
              @Override
              public void channelActive(ChannelHandlerContext ctx) {
                passed.add("active");
              }

              @Override
              public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                passed.add(event.toString());
              }
            });
    client.pipeline().fireChannelActive();
    client.pipeline().fireUserEventTriggered("event");
    assertEquals(List.of("active", "event"), passed);
  }

  @Test
  void shouldCloseWhereTheInputEndsBeforeThat() {
    client.receive("PRI");
    client.receiveEnd();
    assertFalse(client.isOpen());
  }
}
