package agent.l7proxy;

import static agent.l7proxy.ExchangeBench.CHUNKED;
import static agent.l7proxy.ExchangeBench.GET;
import static agent.l7proxy.ExchangeBench.HALF;
import static agent.l7proxy.ExchangeBench.OK;
import static agent.l7proxy.ExchangeBench.PUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RedirectStatistics.Messages;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.HttpContent;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One request and its response, step by step: what either end gets, and when it is read. */
class ExchangeTest {
  private static final String POST = PUT.replace("PUT", "POST");
  private static final int MOST_DRAINED = 64 * 1024;

  private ExchangeBench bench = new ExchangeBench();
  private EmbeddedSocket client = bench.client;

  private void options(java.util.function.Consumer<HttpProxyContext> options) {
    bench = new ExchangeBench(options);
    client = bench.client;
  }

  private void denies() {
    bench.rule = request -> HttpVerdict.DENIED;
  }

  private void assertReset() {
    assertFalse(client.isOpen());
    assertEquals(0, client.lingerSec, "not an orderly end");
  }

  private void assertEndsInOrder() {
    assertTrue(client.isOutputShutdown());
    assertEquals(-1, client.lingerSec);
  }

  private void assertAnswered(int status, Verdict verdict) {
    final String text = client.sent();
    assertTrue(text.startsWith("HTTP/1.1 " + status + " "), text);
    assertEquals(1, bench.records.size());
    assertEquals(status, bench.records.getFirst().status());
    assertEquals(verdict, bench.records.getFirst().verdict());
  }

  @Test
  void shouldForwardARequestWithItsResponseAndCountBothOnce() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    assertEquals(GET, server.sent());
    assertEquals(1, server.newReads());
    assertEquals(new Messages(1, 1, 0, 0), bench.requests());
    assertEquals(new Messages(0, 0, 0, 0), bench.responses());
    assertTrue(bench.records.isEmpty());
    server.receive(OK);
    assertEquals(OK, client.sent());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
    assertEquals(1, bench.records.size());
    final RequestRecord record = bench.records.getFirst();
    assertEquals(Verdict.FORWARDED, record.verdict());
    assertEquals(
        "HTTP/1.1 GET a.test /x 200",
        "%s %s %s %s %d"
            .formatted(
                record.protocol(), record.method(), record.host(), record.path(), record.status()));
    client.receive(GET);
    assertEquals(GET, server.sent(), "the connection is kept");
    server.receive(OK);
    assertEquals(OK, client.sent());
    assertTrue(client.newReads() > 0, "the next request is awaited");
    assertFalse(client.isOutputShutdown());
  }

  @Test
  void shouldCountAResponseWhenItsHeadComesAndAgainWhenItHasEnded() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(HALF);
    assertEquals(HALF, client.sent(), "what came is passed on at once");
    assertEquals(new Messages(1, 0, 0, 0), bench.responses());
    assertTrue(bench.records.isEmpty());
    client.pass(1_234);
    server.receive("ok");
    assertEquals("ok", client.sent());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
    assertEquals(1, bench.records.size());
    assertEquals(1_234, bench.records.getFirst().durationMs());
  }

  @Test
  void shouldCloseAfterTheAnswerWhereTheClientAsksForThat() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assertEquals(GET, server.sent());
    server.receive(OK);
    assertTrue(client.sent().contains("connection: close"));
    assertEndsInOrder();
    assertTrue(server.isOpen());
    client.pass(1_000);
    assertFalse(client.isOpen());
    assertFalse(server.isOpen(), "it is of no use without its client");
  }

  @Test
  void shouldNotReadTheResponseWhileTheClientDoesNotTakeIt() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.newReads();
    client.takesMore(false);
    server.receive(HALF);
    assertEquals(0, server.newReads());
    client.takesMore(true);
    assertEquals(1, server.newReads());
    server.receive("o");
    assertEquals(1, server.newReads());
  }

  @Test
  void shouldNotReadTheRequestWhileTheServerDoesNotTakeIt() {
    final EmbeddedSocket server = bench.server();
    client.receive(POST);
    assertTrue(client.newReads() > 0);
    server.takesMore(false);
    client.receive("a");
    assertEquals(0, client.newReads());
    assertEquals(POST + "a", server.sent(), "what was read is sent on");
    server.takesMore(true);
    assertEquals(1, client.newReads());
  }

  /** The end of the client's connection is heard while the answer is awaited. */
  @Test
  void shouldReadOnBehindARequestUnlessTheNextOneWaits() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    assertEquals(GET, server.sent());
    assertTrue(client.newReads() > 0);
    server.receive(OK);
    client.newReads();
    client.receive(GET + GET);
    client.newReads();
    client.receive(GET);
    assertEquals(0, client.newReads());
    assertEquals(GET, server.sent());
    server.receive(OK);
    assertEquals(GET, server.sent());
    server.receive(OK);
    assertEquals(GET, server.sent());
    assertTrue(client.newReads() > 0);
  }

  @Test
  void shouldRecordTheHostWithoutItsPort() {
    bench.server();
    client.receive(GET.replace("a.test", "A.test:80"));
    bench.kept.receive(OK);
    assertEquals("a.test", bench.records.getFirst().host());
  }

  @Test
  void shouldPassTheRestOfARequestThatIsAnsweredEarly() {
    final EmbeddedSocket server = bench.server();
    client.receive(POST + "ab");
    assertEquals(POST + "ab", server.sent());
    server.receive(OK);
    assertEquals(OK, client.sent());
    assertTrue(bench.records.isEmpty(), "the request has not ended");
    client.receive("c");
    assertEquals("c", server.sent());
    client.receive("d" + GET);
    assertEquals("d" + GET, server.sent(), "both use one connection");
    assertEquals(1, bench.records.size());
    assertEquals(new Messages(2, 2, 0, 0), bench.requests());
  }

  @Test
  void shouldEndARequestThatIsAnsweredEarlyByAServerThatCloses() {
    final EmbeddedSocket server = bench.server();
    client.receive(POST + "ab");
    server.receive(OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assertTrue(client.sent().endsWith("ok"));
    assertEndsInOrder();
    assertFalse(server.isOpen());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
  }

  @Test
  void shouldEndARequestWhoseServerClosesAfterAnEarlyResponse() {
    final EmbeddedSocket server = bench.server();
    client.receive(POST + "ab");
    server.receive(OK);
    server.close();
    assertEquals(OK, client.sent());
    assertEndsInOrder();
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
  }

  @Test
  void shouldAnswerWhatIsDeniedItself() {
    final EmbeddedSocket server = bench.server();
    denies();
    client.receive(GET);
    assertEquals(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\n"
            + "Access denied",
        client.sent());
    assertEquals("", server.sent());
    assertEquals(new Messages(1, 0, 1, 0), bench.requests());
    assertEquals(new Messages(0, 0, 0, 0), bench.responses());
    assertEquals(403, bench.records.getFirst().status());
    assertEquals(Verdict.DENIED, bench.records.getFirst().verdict());
    bench.assertServes();
  }

  @ParameterizedTest
  @CsvSource({"65536, false", "65537, true"})
  void shouldReadDeniedBodiesOf64KiBToTheirEnd(int length, boolean closes) {
    denies();
    client.receive(PUT.replace(": 4", ": " + length));
    assertEquals(closes, client.sent().contains("connection: close"));
    assertEquals(closes, client.isOutputShutdown());
    if (!closes) {
      assertTrue(client.newReads() > 0);
      client.receive("x".repeat(length - 1));
      assertTrue(client.newReads() > 0);
      client.receive("x");
      bench.assertServes();
      assertEquals(2, bench.records.size());
    }
  }

  @ParameterizedTest
  @CsvSource({"0, false", "1, true"})
  void shouldReadDeniedChunksUpTo64KiB(int more, boolean closes) {
    denies();
    client.receive(CHUNKED);
    assertFalse(client.sent().contains("connection: close"));
    for (int i = 0; i < MOST_DRAINED / 0x1000; i++) {
      client.receive("1000\r\n" + "x".repeat(0x1000) + "\r\n");
    }
    assertFalse(client.isOutputShutdown());
    if (more > 0) {
      client.receive("1\r\nx\r\n");
    }
    assertEquals(closes, client.isOutputShutdown());
    if (!closes) {
      client.receive("0\r\n\r\n");
      bench.assertServes();
    }
  }

  @Test
  void shouldLimitTheTimeOfABodyThatIsDenied() {
    denies();
    client.receive(PUT + "ab");
    client.pass(29_000);
    assertFalse(client.isOutputShutdown());
    client.pass(1_000);
    assertEndsInOrder();
    assertEquals(1, bench.records.size());
  }

  @Test
  void shouldEndTheTimeOfADeniedBodyWithTheBody() {
    denies();
    client.receive(PUT + "abcd");
    client.sent();
    client.pass(60_000);
    bench.assertServes();
  }

  @Test
  void shouldNotAnswerTwiceWhenADeniedBodyIsNotValid() {
    denies();
    client.receive(CHUNKED);
    client.sent();
    client.receive("x\r\n");
    assertEquals("", client.sent());
    assertReset();
    assertEquals(1, bench.records.size());
    assertEquals(new Messages(0, 0, 0, 0), bench.responses());
  }

  @Test
  void shouldRecordAndCountWhatIsRefused() {
    client.receive("GET /a%2fb HTTP/1.1\r\nHost: a.test\r\n\r\n");
    final String answer = client.sent();
    assertTrue(answer.startsWith("HTTP/1.1 400 Bad Request\r\n"), answer);
    assertTrue(answer.contains("connection: close"));
    assertTrue(answer.endsWith("Bad request: the path encodes a NUL, a slash or a backslash"));
    assertEndsInOrder();
    final RequestRecord record = bench.records.getFirst();
    assertEquals(Verdict.ERROR, record.verdict());
    assertEquals(
        "HTTP/1.1 GET  /a%2fb 400",
        "%s %s %s %s %d"
            .formatted(
                record.protocol(), record.method(), record.host(), record.path(), record.status()));
    assertEquals(new Messages(1, 0, 0, 1), bench.requests());
    assertTrue(bench.judged.isEmpty());
  }

  /** Its header tells how long it would be (RFC 9110 sections 8.6 and 9.3.2). */
  @ParameterizedTest
  @CsvSource({"/x, 403", "/a%2fb, 400"})
  void shouldAnswerHeadItselfWithoutABody(String path, int status) {
    denies();
    client.receive("HEAD " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
    final String answer = client.sent();
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
    assertTrue(answer.endsWith("\r\n\r\n"), answer);
    assertFalse(answer.contains("content-length: 0\r\n"), answer);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n", ""})
  void shouldPassAResponseToHeadWithoutABodyOrChunks(String framing) {
    final EmbeddedSocket server = bench.server();
    client.receive(GET.replace("GET", "HEAD"));
    server.receive("HTTP/1.1 200 OK\r\n" + framing + "\r\n");
    final String length = framing.startsWith("C") ? framing : "";
    assertEquals("HTTP/1.1 200 OK\r\n" + length + "\r\n", client.sent());
    assertTrue(server.isOpen());
    bench.assertServes();
  }

  @Test
  void shouldLeaveTheRequestIncompleteWhoseChunksAreNotValid() {
    final EmbeddedSocket server = bench.server();
    client.receive(CHUNKED + "2\r\nab\r\n");
    assertTrue(server.sent().endsWith("2\r\nab\r\n"));
    client.receive("x\r\n");
    assertAnswered(400, Verdict.ERROR);
    assertFalse(server.isOpen());
    assertEquals("", server.sent());
    assertEndsInOrder();
    assertEquals(new Messages(1, 1, 0, 1), bench.requests());
  }

  @Test
  void shouldResetTheClientWhoseChunksAreNotValidWithinTheResponse() {
    final EmbeddedSocket server = bench.server();
    client.receive(CHUNKED);
    server.receive(HALF);
    assertEquals(HALF, client.sent());
    client.receive("x\r\n");
    assertReset();
    assertFalse(server.isOpen());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
    assertEquals(200, bench.records.getFirst().status());
    assertEquals(new Messages(1, 0, 0, 1), bench.responses());
  }

  @Test
  void shouldIgnoreALateFailureAndCloseALateConnection() {
    final Exchange exchange = new Exchange(bench.handler, client);
    final EmbeddedSocket server = bench.server();
    exchange.start(
        new io.netty.handler.codec.http.DefaultHttpRequest(
            io.netty.handler.codec.http.HttpVersion.HTTP_1_0,
            io.netty.handler.codec.http.HttpMethod.GET,
            "/"),
        true);
    exchange.notConnected(new java.io.IOException("late"));
    assertEquals("", client.sent());
    final EmbeddedSocket late = new EmbeddedSocket();
    exchange.connected(late);
    assertFalse(late.isOpen());
    assertEquals("GET / HTTP/1.1\r\nhost: 127.0.0.1:80\r\n\r\n", server.sent());
    server.receive(OK);
    assertTrue(client.sent().endsWith("ok"));
  }

  @Test
  void shouldPassResponsesBeforeTheFinalOne() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nKeep-Alive: 5\r\n\r\n");
    assertEquals("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", client.sent());
    assertEquals(new Messages(0, 0, 0, 0), bench.responses());
    server.receive("HTTP/1.1 100 Continue\r\n\r\n" + OK);
    assertEquals("HTTP/1.1 100 Continue\r\n\r\n" + OK, client.sent());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
    bench.assertServes();
  }

  /** The version of a message is that of who sends it (RFC 9110 section 2.5). */
  @Test
  void shouldAskByHttp11WhatAClientOfHttp10AsksFor() {
    final EmbeddedSocket server = bench.server();
    client.receive(
        PUT.replace("1.1\r\n", "1.0\r\nConnection: keep-alive, TE\r\nTE: trailers\r\n")
            .replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\nbody"));
    assertEquals(PUT + "body", server.sent());
    server.receive(OK);
    assertEquals(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nconnection: close\r\n\r\nok", client.sent());
    assertEndsInOrder();
    assertEquals("HTTP/1.0", bench.records.getFirst().protocol());
  }

  /** What names no host is judged as that. */
  @Test
  void shouldNameItsServerAsTheHostWhereAClientOfHttp10NamesNone() {
    final EmbeddedSocket server = bench.server();
    client.receive("GET /x HTTP/1.0\r\nA: b\r\n\r\n");
    assertEquals("GET /x HTTP/1.1\r\nA: b\r\nhost: 127.0.0.1:80\r\n\r\n", server.sent());
    bench.connection.enforce();
    assertEquals(List.of("GET  /x", "GET  /x"), bench.judged);
    assertTrue(server.isOpen());
  }

  /** A client of HTTP/1.0 knows no chunks (RFC 9112 section 7). */
  @Test
  void shouldEndABodyOfChunksByTheConnectionOfAClientOfHttp10() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET.replace("HTTP/1.1", "HTTP/1.0"));
    server.receive(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"
            + "2\r\nok\r\n0\r\nX: y\r\n\r\n");
    assertEquals("HTTP/1.1 200 OK\r\nTrailer: X\r\nconnection: close\r\n\r\nok", client.sent());
    assertEndsInOrder();
    assertFalse(server.isOpen());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
  }

  /** HTTP/1.0 has none (RFC 9110 section 15.2): an old client takes the first for the final one. */
  @Test
  void shouldPassTheFinalResponseAloneToAClientOfHttp10() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET.replace("HTTP/1.1", "HTTP/1.0"));
    server.receive("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    assertEquals("", client.sent());
    server.receive("HTTP/1.1 100 Continue\r\n\r\n" + OK);
    assertAnswered(200, Verdict.FORWARDED);
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
    assertEndsInOrder();
  }

  @Test
  void shouldAnswer502ForWhatIsNoResponse() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive("SSH-2.0\r\n\r\n");
    assertAnswered(502, Verdict.ERROR);
    assertFalse(server.isOpen());
    assertEquals(new Messages(0, 0, 0, 1), bench.responses());
    bench.assertServes();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
      })
  void shouldAnswer502OnceForAResponseThatIsRefused(String response) {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive("HTTP/1.1 " + response);
    assertEquals(2, client.sent().split("HTTP/1.1 502 ", -1).length);
    assertFalse(server.isOpen());
    assertEquals(new Messages(0, 0, 0, 1), bench.responses());
    bench.assertServes();
  }

  @Test
  void shouldReadOnAfterTheFailureOfAServerThatTakesNoMore() {
    final EmbeddedSocket server = bench.server();
    client.receive(PUT);
    server.takesMore(false);
    client.receive("a");
    client.newReads();
    server.receive("SSH-2.0\r\n\r\n");
    assertFalse(server.isOpen());
    assertTrue(client.newReads() > 0, "what is left of the body");
    client.receive("bcd");
    assertTrue(client.sent().startsWith("HTTP/1.1 502 "));
    bench.assertServes();
  }

  @Test
  void shouldNotPassASecondResponse() {
    final EmbeddedSocket server = bench.server();
    client.receive(POST + "ab");
    server.receive(OK + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake");
    assertEquals(OK, client.sent());
    assertReset();
    assertFalse(server.isOpen());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
  }

  @Test
  void shouldResetTheClientWhenTheServerClosesWithinTheResponse() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(HALF);
    server.close();
    assertEquals(HALF, client.sent());
    assertReset();
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
    assertEquals(200, bench.records.getFirst().status());
    assertEquals(new Messages(1, 0, 0, 1), bench.responses());
  }

  @Test
  void shouldAnswer504AtTheLimitOfARequest() {
    options(context -> context.requestTimeout(Duration.ofSeconds(5)));
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    client.pass(4_999);
    assertTrue(bench.records.isEmpty());
    client.pass(1);
    assertAnswered(504, Verdict.ERROR);
    assertFalse(server.isOpen());
    assertEquals(new Messages(0, 0, 0, 1), bench.responses());
    bench.assertServes();
  }

  @Test
  void shouldResetTheClientAtTheLimitOfARequestWithinItsResponse() {
    options(context -> context.requestTimeout(Duration.ofSeconds(5)));
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(HALF);
    client.pass(5_000);
    assertReset();
    assertFalse(server.isOpen());
    assertEquals(HALF, client.sent());
    assertEquals(new Messages(1, 0, 0, 1), bench.responses());
  }

  @Test
  void shouldNotLimitARequestThatHasEndedOrIsAnswered() {
    options(context -> context.requestTimeout(Duration.ofSeconds(5)));
    bench.assertServes();
    client.pass(60_000);
    bench.assertServes();
    final EmbeddedSocket server = bench.server();
    client.receive(PUT);
    client.pass(4_000);
    server.receive("SSH-2.0\r\n\r\n");
    assertTrue(client.sent().startsWith("HTTP/1.1 502 "));
    client.pass(10_000);
    assertEquals("", client.sent());
    client.receive("abcd");
    bench.assertServes();
  }

  @Test
  void shouldEndBothConnectionsWhenTheClientEndsWithinItsRequest() {
    final EmbeddedSocket server = bench.server();
    client.receive(PUT + "ab");
    client.receiveEnd();
    assertFalse(client.isOpen());
    assertFalse(server.isOpen());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
    assertEquals(0, bench.records.getFirst().status());
  }

  @Test
  void shouldAnswerAClientThatEndsBehindItsRequest() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    client.receiveEnd();
    assertTrue(server.isOpen());
    server.receive(OK);
    assertEquals(OK, client.sent());
    assertFalse(client.isOpen());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
  }

  @Test
  void shouldCloseTheServerAndRecordWhenTheClientCloses() {
    options(context -> context.requestTimeout(Duration.ofSeconds(5)));
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(HALF);
    client.close();
    assertFalse(server.isOpen());
    client.pass(10_000);
    assertEquals(1, bench.records.size());
    assertEquals(Verdict.ERROR, bench.records.getFirst().verdict());
    assertEquals(200, bench.records.getFirst().status());
    assertEquals(new Messages(1, 0, 0, 0), bench.responses());
  }

  @Test
  void shouldCloseAConnectionOnWhichSomethingComesWithoutARequest() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(OK + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake");
    assertEquals(OK, client.sent());
    assertFalse(server.isOpen());
    bench.assertServes();
  }

  @Test
  void shouldOpenATunnelWithoutTheLimitsOfARequest() {
    options(context -> context.requestTimeout(Duration.ofSeconds(5)));
    final EmbeddedSocket server = bench.server();
    client.receive("CONNECT a.test:1 HTTP/1.1\r\nHost: a.test:1\r\n\r\n");
    server.newReads();
    server.receive("HTTP/1.1 200 OK\r\n\r\n");
    assertEquals("HTTP/1.1 200 OK\r\n\r\n", client.sent());
    server.sent();
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    assertEquals(200, bench.records.getFirst().status());
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
    client.pass(60_000);
    client.receive("up");
    server.receive("down");
    assertEquals("up", server.sent());
    assertEquals("down", client.sent());
    client.close();
    assertFalse(server.isOpen());
    assertEquals(1, bench.records.size());
  }

  @Test
  void shouldEndATunnelThatIsIdleForTheTimeOfTheOption() {
    options(context -> context.idleTimeout(Duration.ofSeconds(5)));
    final EmbeddedSocket server = bench.server();
    client.receive("CONNECT a.test:1 HTTP/1.1\r\nHost: a.test:1\r\n\r\n");
    server.receive("HTTP/1.1 200 OK\r\n\r\n");
    client.pass(4_000);
    client.receive("up");
    client.pass(4_999);
    assertTrue(client.isOpen());
    client.pass(1);
    assertFalse(client.isOpen() || server.isOpen());
  }

  /** Parts that no one gets are given back. */
  @Test
  void shouldReleaseWhatItDoesNotPassOn() {
    denies();
    client.receive(PUT);
    final ChannelHandlerContext end = client.pipeline().context(bench.handler);
    final Exchange exchange = new Exchange(bench.handler, client);
    final HttpContent failed = part("x");
    failed.setDecoderResult(DecoderResult.failure(new BadRequestException("bad")));
    final HttpContent early = part("x");
    exchange.response(early);
    assertEquals(0, early.refCnt(), "of a server that is not asked");
    final HttpContent drained = part("ab");
    bench.handler.channelRead(end, drained);
    assertEquals(0, drained.refCnt());
    bench.handler.channelRead(end, failed);
    assertEquals(0, failed.refCnt());
    final HttpContent late = part("x");
    bench.handler.channelRead(end, late);
    assertEquals(0, late.refCnt(), "after the end");
  }

  @Test
  void shouldReleaseABodyThatWaitsForAConnectionWhenTheClientCloses() {
    final HttpContent waiting = part("ab");
    final ChannelHandlerContext end = client.pipeline().context(bench.handler);
    bench.rule =
        request -> {
          client
              .eventLoop()
              .execute(
                  () -> {
                    bench.handler.channelRead(end, waiting);
                    client.close();
                  });
          return HttpVerdict.ALLOWED;
        };
    client.receive(PUT);
    assertEquals(0, waiting.refCnt());
    assertEquals(1, bench.records.size());
  }

  @Test
  void shouldAnswer502ForABodyBeforeItsHead() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    final HttpContent early = part("x");
    server.pipeline().context(ResponseDecoder.class).fireChannelRead(early);
    assertEquals(0, early.refCnt());
    assertAnswered(502, Verdict.ERROR);
  }

  /** Answers that wait for the client are memory of the agent. */
  @Test
  void shouldNotJudgeTheNextRequestUntilTheClientTakesMore() {
    denies();
    client.takesMore(false);
    client.receive(GET + GET);
    assertEquals(1, bench.judged.size());
    client.newReads();
    client.pipeline().fireChannelReadComplete();
    assertEquals(0, client.newReads());
    client.takesMore(true);
    assertEquals(2, bench.judged.size());
    assertTrue(client.newReads() > 0);
  }

  private static HttpContent part(String text) {
    final ByteBuf bytes = Unpooled.copiedBuffer(text, java.nio.charset.StandardCharsets.US_ASCII);
    return new DefaultHttpContent(bytes);
  }
}
