package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Failures of a client's end, and what comes after its last answer. */
class ClientHandlerTest {
  private static final IOException FAILURE = new IOException("planned");

  private final ExchangeBench http1 = new ExchangeBench();
  private final ExchangeBench stream = new ExchangeBench(context -> {}, true, true);

  private static void fail(ExchangeBench bench) {
    bench.client.pipeline().fireExceptionCaught(FAILURE);
    bench.client.runPendingTasks();
  }

  @Test
  void shouldCloseAConnectionOfHttp1ThatFails() {
    fail(http1);
    assertFalse(http1.client.isOpen());
    assertEquals("", http1.client.sent());
    assertTrue(http1.records.isEmpty());
  }

  /** It is closed by the next task of its event loop. */
  @Test
  void shouldTakeNoRequestOfAConnectionWhoseDescriptorWasTaken() {
    http1.counted.release();
    http1.client.receive(ExchangeBench.GET);
    assertEquals("", http1.client.sent());
    stream.counted.release();
    stream.client.writeInbound(new DefaultHttp2HeadersFrame(Http2Client.head("GET", "/x"), true));
    final Http2ResetFrame reset = stream.client.readOutbound();
    assertEquals(Http2Error.REFUSED_STREAM.code(), reset.errorCode());
    for (final ExchangeBench bench : List.of(http1, stream)) {
      assertEquals(List.of(), bench.judged);
      assertEquals(List.of(), bench.records);
    }
  }

  @Test
  void shouldCloseTheServerOfAConnectionThatFails() {
    final EmbeddedSocket server = http1.server();
    http1.client.receive(ExchangeBench.GET);
    fail(http1);
    assertFalse(http1.client.isOpen());
    assertFalse(server.isOpen());
    assertEquals(1, http1.records.size());
  }

  @Test
  void shouldAnswer400OnceToAStreamWhoseHeadCannotBeRead() {
    fail(stream);
    final Http2HeadersFrame answer = stream.client.readOutbound();
    assertEquals("400", answer.headers().status().toString());
    assertEquals(1, stream.records.size());
    fail(stream);
    assertEquals(1, stream.records.size());
    assertFalse(stream.client.isOpen());
  }

  @Test
  void shouldCloseAStreamThatFailsWithinItsRequest() {
    stream.client.writeInbound(new DefaultHttp2HeadersFrame(Http2Client.head("PUT", "/x"), false));
    stream.client.readOutbound();
    fail(stream);
    assertFalse(stream.client.isOpen());
    assertEquals(1, stream.records.size());
  }

  @Test
  void shouldNotAnswerAStreamThatTheClientHasReset() {
    stream.client.pipeline().fireUserEventTriggered(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
    fail(stream);
    assertTrue(stream.records.isEmpty());
    assertFalse(stream.client.isOpen());
  }

  @Test
  void shouldReleaseWhatComesAfterTheLastAnswer() {
    fail(stream);
    stream.client.pipeline().fireUserEventTriggered(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
    final ByteBuf late = Unpooled.buffer().writeInt(1);
    stream.client.writeInbound(new DefaultHttp2DataFrame(late, true));
    assertEquals(0, late.refCnt());
  }

  @Test
  void shouldEndTheRequestOfAnUpgradeWhoseClientHasGone() {
    http1
        .client
        .pipeline()
        .addFirst(
            new ChannelOutboundHandlerAdapter() {
              @Override
              public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                ReferenceCountUtil.release(message);
                promise.setFailure(FAILURE);
                ctx.close();
              }
            });
    http1.client.receive(
        ExchangeBench.GET.replace(
            "\r\n\r\n",
            "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"));
    assertEquals(1, http1.records.size());
    assertEquals(0, http1.records.getFirst().status());
    assertFalse(http1.client.isOpen());
  }

  /** A client that still sends has a second to read the answer. */
  @Test
  void shouldCloseAConnectionASecondAfterItsLastAnswer() {
    http1.client.receive("GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n");
    assertTrue(http1.client.sent().startsWith("HTTP/1.1 400 "));
    http1.client.pass(999);
    http1.client.receive("more");
    assertTrue(http1.client.isOpen());
    http1.client.pass(1);
    assertFalse(http1.client.isOpen());
  }

  @Test
  void shouldWatchForTheEndOfTheConnectionUnlessTheNextRequestIsThere() {
    http1.server();
    http1.client.receive(ExchangeBench.PUT + "ab");
    http1.client.newReads();
    http1.client.receive("cd");
    assertEquals(1, http1.client.newReads());
    http1.client.receive(ExchangeBench.GET);
    assertEquals(0, http1.client.newReads());
  }

  @Test
  void shouldReadTheFirstRequestOfAStream() {
    stream.client.newReads();
    stream.client.pipeline().fireChannelActive();
    assertEquals(1, stream.client.newReads());
  }

  @Test
  void shouldPassOnEventsThatAreNotItsOwn() {
    final Object event = new Object();
    final boolean[] isSeen = new boolean[1];
    http1
        .client
        .pipeline()
        .addLast(
            new ChannelInboundHandlerAdapter() {
              @Override
              public void userEventTriggered(ChannelHandlerContext ctx, Object passed) {
                isSeen[0] = passed == event;
              }
            });
    http1.client.pipeline().fireUserEventTriggered(event);
    assertTrue(isSeen[0]);
  }
}
