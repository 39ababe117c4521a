package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.request.HttpVerdict;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the bytes of a connection become requests, one at a time, and how long a head may take. */
class RequestDecoderTest {
  private static final String GET = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";
  private static final String OTHER = "GET /y HTTP/1.1\r\nHost: a.test\r\n\r\n";
  private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  private static final int LONGEST = 64 * 1024;

  private ExchangeBench bench = new ExchangeBench();
  private EmbeddedSocket client = bench.client;

  private void assertAnswer(int status) {
    final String text = client.sent();
    assertTrue(text.startsWith("HTTP/1.1 " + status + " "), text);
  }

  /** Sends a request whose last field ends at this length. */
  private void sendHead(int length) {
    final String begin = "GET /x HTTP/1.1\r\nHost: a.test\r\nX: ";
    client.receive(begin + "x".repeat(length - begin.length() - 2) + "\r\n\r\n");
  }

  @Test
  void shouldTakeHeadsOf64KiB() {
    final EmbeddedSocket server = bench.server();
    sendHead(LONGEST);
    assertEquals(LONGEST + 2, server.sent().length());
  }

  @Test
  void shouldRefuseLongerHeads() {
    sendHead(LONGEST + 1);
    assertTrue(client.sent().endsWith("Bad request: the head is too long"));
    assertTrue(bench.judged.isEmpty());
  }

  @ParameterizedTest
  @CsvSource({"65536, false", "65537, true"})
  void shouldRefuseALineWithoutEndWhereItIsTooLong(int length, boolean isRefused) {
    client.receive("GET /" + "x".repeat(length - 5));
    assertEquals(isRefused, client.sent().endsWith("the head is longer than 65536 bytes"));
    assertEquals(isRefused, client.isOutputShutdown());
  }

  @Test
  void shouldRefuseALineThatEndsBeforeItsFirstByte() {
    client.receive("\n");
    assertAnswer(400);
  }

  @Test
  void shouldReadAHeadThatComesByteByByteAsOneRequest() {
    final EmbeddedSocket server = bench.server();
    final String head = "\r\n\r\n" + GET;
    for (int i = 0; i < head.length() - 1; i++) {
      client.newReads();
      client.receive(head.substring(i, i + 1));
      assertTrue(client.newReads() > 0, "the rest of the head is awaited");
    }
    assertTrue(bench.judged.isEmpty());
    client.receive("\n");
    assertEquals(List.of("GET a.test /x"), bench.judged);
    assertEquals(GET, server.sent());
    server.receive(OK);
    for (final char next : ("\r\n" + OTHER).toCharArray()) {
      client.receive(Character.toString(next));
    }
    assertEquals(List.of("GET a.test /x", "GET a.test /y"), bench.judged);
  }

  /**
   * Of idle connections the one that was not used for the longest time gives its descriptor away.
   */
  @Test
  void shouldBeUsedSinceTheFirstByteOfAHead() {
    client.pass(1);
    client.receive("G");
    assertFalse(bench.counted.take(), "it was idle since the connection began");
    client.receive(GET.substring(1));
    assertEquals(List.of("GET a.test /x"), bench.judged);
  }

  @Test
  void shouldJudgeTheNextRequestWhenTheOneBeforeHasEnded() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET + OTHER);
    assertEquals(1, bench.judged.size());
    client.receive(GET);
    assertEquals(1, bench.judged.size());
    server.sent();
    server.receive(OK);
    assertEquals(List.of("GET a.test /x", "GET a.test /y"), bench.judged);
    assertEquals(OTHER, server.sent());
    server.receive(OK);
    assertEquals(3, bench.judged.size());
  }

  @Test
  void shouldAnswerDeniedRequestsThatComeTogetherInTheirOrder() {
    bench.rule = request -> request.path().equals("/y") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    final EmbeddedSocket server = bench.server();
    client.receive(OTHER + GET + OTHER + OTHER);
    assertAnswer(403);
    server.receive(OK);
    final String rest = client.sent();
    assertTrue(rest.startsWith(OK), rest);
    assertEquals(3, rest.split("HTTP/1.1 ", -1).length - 1);
    assertEquals(4, bench.judged.size());
    assertTrue(client.newReads() > 0);
    assertTrue(client.isOpen());
  }

  @Test
  void shouldPassTheEndOfTheInputBehindTheRequestsBeforeIt() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET + OTHER);
    client.receiveEnd();
    assertTrue(client.isOpen());
    server.receive(OK);
    assertTrue(client.isOpen(), "the second one is not answered");
    server.sent();
    server.receive(OK);
    assertEquals(OK + OK, client.sent());
    assertFalse(client.isOpen());
    assertEquals(2, bench.records.size());
  }

  @Test
  void shouldCloseAnIdleConnectionWhoseInputEnds() {
    bench.server();
    client.receiveEnd();
    assertFalse(client.isOpen());
  }

  /** What comes behind a request that is refused may be part of it. */
  @Test
  void shouldDiscardWhatComesBehindAHeadThatIsRefused() {
    bench.server();
    client.receive("GET / HTTP/1.1\nHost: a.test\r\n\r\n" + GET);
    assertAnswer(400);
    client.receive(GET);
    assertEquals("", client.sent());
    assertTrue(bench.judged.isEmpty());
    client.pass(1_000);
    assertFalse(client.isOpen());
  }

  @Test
  void shouldDiscardWhatComesAfterTheLastAnswer() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n") + OTHER);
    server.receive(OK);
    client.receive(OTHER);
    assertEquals(1, bench.judged.size());
    assertTrue(client.config().isAutoRead(), "the client may send on until it has read the answer");
    client.pass(999);
    assertTrue(client.isOpen());
    client.pass(1);
    assertFalse(client.isOpen());
  }

  @Test
  void shouldCloseAtOnceWhereTheInputHasEndedBehindTheLastRequest() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n") + OTHER);
    client.receiveEnd();
    assertTrue(client.isOpen());
    server.receive(OK);
    assertTrue(client.sent().endsWith("ok"));
    assertFalse(client.isOpen());
    assertEquals(1, bench.judged.size());
  }

  @Test
  void shouldAnswer408ToAHeadThatIsNotWholeInTime() {
    client.receive("GET /x HTTP/1.1\r\n");
    client.pass(29_000);
    client.receive("Host: a.test\r\n");
    client.pass(999);
    assertEquals("", client.sent());
    client.pass(1);
    assertAnswer(408);
    assertEquals(408, bench.records.getFirst().status());
    client.receive("\r\n" + GET);
    assertTrue(bench.judged.isEmpty());
    assertEquals("", client.sent());
  }

  @ParameterizedTest
  @ValueSource(strings = {"\r", "\r\n", "G"})
  void shouldLimitAHeadFromItsFirstByte(String first) {
    bench.connection.head().start(() -> {}); // that of the connection
    client.receive(first);
    client.pass(30_000);
    assertAnswer(408);
  }

  @Test
  void shouldNotLimitTheTimeBetweenRequestsNorThatOfABody() {
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(OK);
    client.pass(100_000);
    assertEquals(OK, client.sent());
    client.receive("PUT /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n");
    client.pass(29_999);
    client.receive("\r\na");
    client.pass(100_000);
    client.receive("b");
    server.receive(OK);
    assertEquals(OK, client.sent());
    client.receive("GET ");
    client.pass(30_000);
    assertAnswer(408);
  }

  @Test
  void shouldEndAnIdleConnectionUnlessAHeadHasBegun() {
    bench = new ExchangeBench(context -> context.idleTimeout(Duration.ofSeconds(10)));
    client = bench.client;
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(OK);
    client.pass(9_000);
    client.receive("GET /x");
    client.pass(20_000);
    assertTrue(client.isOpen(), "the limit of a head is another one");
    client.receive(" HTTP/1.1\r\nHost: a.test\r\n\r\n");
    server.receive(OK);
    assertEquals(OK + OK, client.sent());
    client.pass(9_999);
    assertTrue(client.isOpen());
    client.pass(1);
    assertFalse(client.isOpen());
  }

  @Test
  void shouldNotEndAConnectionAsIdleWhoseNextRequestCameAtOnce() {
    bench = new ExchangeBench(context -> context.idleTimeout(Duration.ofSeconds(10)));
    client = bench.client;
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(OK);
    client.pass(6_000);
    client.receive(GET);
    client.pass(6_000);
    server.receive(OK);
    assertEquals(OK + OK, client.sent());
  }

  @Test
  void shouldCloseTheConnectionWherePolicyFailsForALaterRequest() {
    bench.rule =
        request -> {
          if (request.path().equals("/y")) {
            throw new IllegalStateException("no policy");
          }
          return HttpVerdict.ALLOWED;
        };
    final EmbeddedSocket server = bench.server();
    client.receive(GET + OTHER);
    server.sent();
    server.receive(OK);
    assertEquals(OK, client.sent());
    assertEquals("", server.sent());
    assertFalse(client.isOpen());
  }
}
