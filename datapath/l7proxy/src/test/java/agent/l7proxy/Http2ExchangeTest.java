package agent.l7proxy;

import static agent.l7proxy.ExchangeBench.HALF;
import static agent.l7proxy.ExchangeBench.OK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RedirectStatistics.Messages;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2ResetFrame;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One stream of HTTP/2, to a server of HTTP/1 or of HTTP/2, step by step. */
class Http2ExchangeTest {
  private static final int HEADERS = 1;
  private static final int RST_STREAM = 3;
  private static final int END_HEADERS = 4;
  private static final int END_STREAM = 1;

  /** Streams of a connection to a server. */
  private static final int FIRST = 3;

  private static final int SECOND = 5;

  private ExchangeBench bench;
  private EmbeddedSocket client;

  private void start(boolean isServerHttp2, Consumer<HttpProxyContext> options) {
    bench = new ExchangeBench(options, true, isServerHttp2);
    client = bench.client;
  }

  private void head(Http2Headers head, boolean isEnd) {
    client.writeInbound(new DefaultHttp2HeadersFrame(head, isEnd));
  }

  private void ask(String method, boolean isEnd) {
    head(Http2Client.head(method, "/x"), isEnd);
  }

  private static Http2Headers grpc() {
    return Http2Client.head("POST", "/x")
        .set("content-type", "application/grpc")
        .set("grpc-timeout", "5S");
  }

  private void body(String text, boolean isEnd) {
    client.writeInbound(
        new DefaultHttp2DataFrame(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII), isEnd));
  }

  /** Returns the frames that the client has got: status or trailers, bodies, and the reset. */
  private List<String> got() {
    final List<String> frames = new ArrayList<>();
    for (Object frame = client.readOutbound(); frame != null; frame = client.readOutbound()) {
      if (frame instanceof Http2HeadersFrame head) {
        final CharSequence status = head.headers().status();
        final CharSequence grpc = head.headers().get("grpc-status");
        frames.add(
            (status == null ? "end" : status)
                + (grpc == null ? "" : " grpc " + grpc)
                + (head.isEndStream() ? "." : ""));
      } else if (frame instanceof Http2DataFrame data) {
        final String text = data.content().toString(StandardCharsets.US_ASCII);
        if (!text.isEmpty() || data.isEndStream()) {
          frames.add(text + (data.isEndStream() ? "." : ""));
        }
        data.release();
      } else {
        frames.add("reset " + Http2Error.valueOf(((Http2ResetFrame) frame).errorCode()));
      }
    }
    return frames;
  }

  /** Sends a frame of a server of HTTP/2. */
  private static void send(EmbeddedSocket server, int type, int flags, int stream, String payload) {
    final ByteBuf frame = Unpooled.buffer().writeMedium(payload.length());
    frame.writeByte(type).writeByte(flags).writeInt(stream);
    frame.writeCharSequence(payload, StandardCharsets.ISO_8859_1);
    server.writeInbound(frame);
  }

  private static void reset(EmbeddedSocket server, int stream, int code) {
    send(server, RST_STREAM, 0, stream, "\0\0\0" + (char) code);
  }

  /** Returns the streams whose head the server has got since the last call. */
  private static List<Integer> asked(EmbeddedSocket server) {
    final ByteBuf bytes = Unpooled.copiedBuffer(server.sent(), StandardCharsets.ISO_8859_1);
    final List<Integer> streams = new ArrayList<>();
    while (bytes.isReadable()) {
      final int length = bytes.readUnsignedMedium();
      final int type = bytes.readByte();
      bytes.skipBytes(1);
      final int stream = bytes.readInt();
      if (type == HEADERS) {
        streams.add(stream);
      }
      bytes.skipBytes(length);
    }
    return streams;
  }

  @Test
  void shouldAnswerAStreamFromAServerOfHttp1() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    ask("GET", true);
    assertEquals("GET /x HTTP/1.1\r\nhost: a.test:80\r\n\r\n", server.sent());
    server.receive(OK);
    assertEquals(List.of("200", "ok."), got());
    assertEquals("HTTP/2", bench.records.getFirst().protocol());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    assertTrue(client.isOpen());
  }

  @Test
  void shouldAnswerWhatIsDeniedWithoutFieldsOfAConnection() {
    start(false, context -> {});
    bench.rule = request -> HttpVerdict.DENIED;
    ask("POST", false);
    final Http2HeadersFrame head = client.readOutbound();
    assertEquals("403", head.headers().status().toString());
    assertFalse(head.headers().contains("connection"));
    assertEquals(List.of("Access denied."), got());
    body("ab", false);
    assertEquals(List.of(), got());
    body("cd", true);
    assertEquals(List.of(), got(), "the stream has ended at both sides");
    assertEquals(1, bench.records.size());
  }

  /** RFC 9110 section 9.3.2. */
  @ParameterizedTest
  @CsvSource({"/x, 403.", "/a%2fb, 400."})
  void shouldAnswerHeadItselfWithoutABody(String path, String answer) {
    start(true, context -> {});
    bench.rule = request -> HttpVerdict.DENIED;
    head(Http2Client.head("HEAD", path), true);
    assertEquals(List.of(answer), got());
  }

  @Test
  void shouldEndTheStreamWhoseDeniedBodyIsTooLong() {
    start(false, context -> {});
    bench.rule = request -> HttpVerdict.DENIED;
    ask("POST", false);
    assertEquals(List.of("403", "Access denied."), got());
    body("x".repeat(64 * 1024), false);
    assertEquals(List.of(), got());
    body("x", false);
    assertEquals(List.of("reset NO_ERROR"), got());
    body("x", false);
    assertEquals(List.of(), got());
  }

  @Test
  void shouldResetAStreamWhoseServerClosesWithinTheResponse() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    ask("GET", true);
    server.receive(HALF);
    server.close();
    assertEquals(List.of("200", "ok", "reset INTERNAL_ERROR"), got());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
  }

  @Test
  void shouldCloseTheServerWhenTheClientResetsItsStream() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    ask("GET", true);
    client.pipeline().fireUserEventTriggered(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
    assertFalse(server.isOpen());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
    assertEquals(List.of(), got());
    body("late", true);
    assertEquals(1, bench.records.size());
  }

  @Test
  void shouldNotJudgeAStreamAgainThatTheClientHasReset() {
    start(false, context -> {});
    bench.server();
    ask("GET", true);
    client.pipeline().fireUserEventTriggered(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
    bench.rule = request -> HttpVerdict.DENIED;
    bench.connection.enforce();
    assertTrue(client.isOpen(), "no request is denied");
    assertEquals(new Messages(1, 1, 0, 0), bench.requests());
  }

  @Test
  void shouldEndTheTimeOfAStreamThatTheClientHasReset() {
    start(false, context -> context.requestTimeout(Duration.ofSeconds(5)));
    bench.server();
    ask("GET", true);
    client.pipeline().fireUserEventTriggered(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
    client.pass(5_000);
    assertEquals(List.of(), got());
    assertEquals(new Messages(0, 0, 0, 0), bench.responses());
  }

  /** The response ends early: what is left of the request is not wanted (RFC 9113 section 8.1). */
  @Test
  void shouldEndARequestThatIsAnsweredEarlyByAServerThatCloses() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    ask("POST", false);
    server.receive(OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assertEquals(List.of("200", "ok.", "reset NO_ERROR"), got());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
  }

  @Test
  void shouldTellAGrpcClientThatItsTimeIsOver() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    head(grpc(), true);
    client.pass(4_999);
    assertEquals(List.of(), got());
    client.pass(1);
    assertEquals(List.of("200 grpc 4."), got());
    assertFalse(server.isOpen());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
    assertEquals(200, bench.records.getFirst().status());
    assertEquals(new Messages(0, 0, 0, 1), bench.responses());
  }

  @Test
  void shouldTellAGrpcClientWithinTheResponseThatItsTimeIsOver() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    head(grpc(), true);
    server.receive(HALF);
    client.pass(5_000);
    assertEquals(List.of("200", "ok", "end grpc 4.", "reset INTERNAL_ERROR"), got());
    assertFalse(server.isOpen());
  }

  @Test
  void shouldNotEndAGrpcResponseTwice() {
    start(false, context -> {});
    final EmbeddedSocket server = bench.server();
    head(grpc(), false);
    server.receive(OK);
    assertEquals(List.of("200", "ok."), got());
    client.pass(5_000);
    assertEquals(List.of("reset INTERNAL_ERROR"), got());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
  }

  @Test
  void shouldEndOtherStreamsAtTheirLimitBy504() {
    start(false, context -> context.requestTimeout(Duration.ofSeconds(5)));
    bench.server();
    ask("GET", true);
    client.pass(5_000);
    assertEquals(List.of("504", "The server has not answered in time."), got());
  }

  @Test
  void shouldKeepTheConnectionOfHttp2ForTheNextStream() {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("GET", true);
    assertEquals(List.of(FIRST), asked(server));
    send(server, HEADERS, END_HEADERS | END_STREAM, FIRST, "\u0088");
    assertEquals(List.of("200."), got());
    assertTrue(server.isOpen());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
  }

  /** The server has not processed it, so that any method may come again (RFC 9113 section 8.7). */
  @ParameterizedTest
  @ValueSource(strings = {"GET", "POST"})
  void shouldRepeatAStreamThatTheServerRefuses(String method) {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask(method, true);
    assertEquals(List.of(FIRST), asked(server));
    reset(server, FIRST, 7);
    client.runPendingTasks();
    assertEquals(List.of(SECOND), asked(server));
    assertEquals(List.of(), got());
    send(server, HEADERS, END_HEADERS | END_STREAM, SECOND, "\u0088");
    assertEquals(List.of("200."), got());
    assertEquals(new Messages(1, 1, 0, 0), bench.requests());
  }

  @Test
  void shouldRepeatARefusedStreamAsOftenAsTheOptionSays() {
    start(true, context -> context.retries(1));
    final EmbeddedSocket server = bench.http2Server();
    ask("POST", true);
    reset(server, FIRST, 7);
    assertEquals(List.of(FIRST, SECOND), asked(server));
    reset(server, SECOND, 7);
    assertEquals(List.of(), asked(server));
    assertEquals("503", got().getFirst());
  }

  @ParameterizedTest
  @CsvSource({"false", "true"})
  void shouldNotRepeatARefusedStreamWhoseBodyWasSent(boolean isEnd) {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("PUT", false);
    body("ab", isEnd);
    assertEquals(List.of(FIRST), asked(server));
    reset(server, FIRST, 7);
    assertEquals(List.of(), asked(server));
    assertEquals("503", got().getFirst());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 8, 11, 99})
  void shouldNotRepeatAStreamThatTheServerHasReset(int code) {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("GET", true);
    assertEquals(List.of(FIRST), asked(server));
    reset(server, FIRST, code);
    assertEquals(List.of(), asked(server));
    assertEquals("503", got().getFirst());
    assertEquals(503, bench.records.getFirst().status());
    assertTrue(server.isOpen());
  }

  @ParameterizedTest
  @EnumSource(
      value = Http2Error.class,
      names = {"NO_ERROR", "PROTOCOL_ERROR", "CANCEL", "REFUSED_STREAM", "ENHANCE_YOUR_CALM"})
  void shouldPassTheResetOfAResponse(Http2Error error) {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("GET", true);
    send(server, HEADERS, END_HEADERS, FIRST, "\u0088");
    reset(server, FIRST, (int) error.code());
    assertEquals(List.of("200", "reset " + error), got());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
  }

  @Test
  void shouldPassAnUnknownResetAsAnInternalError() {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("GET", true);
    send(server, HEADERS, END_HEADERS, FIRST, "\u0088");
    reset(server, FIRST, 99);
    assertEquals(List.of("200", "reset INTERNAL_ERROR"), got());
  }

  /** A server that has answered asks so for no more of the request (RFC 9113 section 8.1). */
  @Test
  void shouldTakeAResponseForWholeWhoseServerWantsNoMoreOfTheRequest() {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("POST", false);
    send(server, HEADERS, END_HEADERS | END_STREAM, FIRST, "\u0088");
    assertEquals(List.of("200."), got());
    reset(server, FIRST, 0);
    assertEquals(List.of("reset NO_ERROR"), got());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    assertTrue(server.isOpen());
  }

  @Test
  void shouldWaitForTheRestOfARequestThatIsAnsweredEarly() {
    start(true, context -> {});
    final EmbeddedSocket server = bench.http2Server();
    ask("POST", false);
    send(server, HEADERS, END_HEADERS | END_STREAM, FIRST, "\u0088");
    assertTrue(bench.records.isEmpty());
    body("ab", true);
    assertTrue(server.sent().endsWith("ab"));
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    assertEquals(List.of("200."), got());
  }
}
