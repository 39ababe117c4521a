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
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How often a server is asked for one request, and what becomes of a body meanwhile. */
class ExchangeRetryTest {

  private ExchangeBench bench = new ExchangeBench();
  private EmbeddedSocket client = bench.client;

  private void options(java.util.function.Consumer<HttpProxyContext> options) {
    bench = new ExchangeBench(options);
    client = bench.client;
  }

  private void assertAnswered(int status, Verdict verdict) {
    final String text = client.sent();
    assertTrue(text.startsWith("HTTP/1.1 " + status + " "), text);
    assertEquals(1, bench.records.size());
    assertEquals(status, bench.records.getFirst().status());
    assertEquals(verdict, bench.records.getFirst().verdict());
  }

  /** Only what is idempotent, and of whose body nothing was sent, may come twice. */
  @ParameterizedTest
  @CsvSource({
    "GET,,, true",
    "GET, Content-Length: 0,, true",
    "DELETE,,, true",
    "PUT, Content-Length: 4,, true",
    "PUT, Content-Length: 4, ab, false",
    "PUT, Content-Length: 2, ab, false",
    "POST,,, false",
    "POST, Content-Length: 4,, false",
  })
  void shouldRepeatWhatMayComeTwiceWhenTheServerCloses(
      String method, String field, String body, boolean isRepeated) {
    final EmbeddedSocket first = bench.server();
    final String head =
        method
            + " /x HTTP/1.1\r\nHost: a.test\r\n"
            + (field == null ? "" : field + "\r\n")
            + "\r\n";
    client.receive(head + (body == null ? "" : body));
    assertEquals(head + (body == null ? "" : body), first.sent());
    final EmbeddedSocket second = bench.server();
    first.close();
    assertEquals(isRepeated ? head : "", second.sent());
    if (isRepeated) {
      if (field != null && field.endsWith("4")) {
        client.receive("abcd");
        assertEquals("abcd", second.sent());
      }
      second.receive(OK);
      assertEquals(OK, client.sent());
      assertEquals(new Messages(1, 1, 0, 0), bench.requests(), "counted once");
    } else {
      assertAnswered(503, Verdict.ERROR);
      assertEquals(new Messages(0, 0, 0, 1), bench.responses());
    }
  }

  /** The end of the empty body was sent in a part of its own. */
  @Test
  void shouldNotRepeatChunksThatHaveEnded() {
    final EmbeddedSocket first = bench.server();
    client.receive(CHUNKED.replace("POST", "PUT") + "0\r\n\r\n");
    assertTrue(first.sent().endsWith("0\r\n\r\n"));
    final EmbeddedSocket second = bench.server();
    first.close();
    assertEquals("", second.sent());
    assertAnswered(503, Verdict.ERROR);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void shouldRepeatAsOftenAsTheOptionSays(int retries) {
    options(context -> context.retries(retries));
    EmbeddedSocket server = bench.server();
    client.receive(GET);
    for (int i = 0; i < retries; i++) {
      final EmbeddedSocket next = bench.server();
      server.close();
      assertEquals(GET, next.sent());
      assertEquals("", client.sent());
      server = next;
    }
    final EmbeddedSocket last = bench.server();
    server.close();
    assertEquals("", last.sent());
    assertAnswered(503, Verdict.ERROR);
  }

  @Test
  void shouldAskAnotherServerWhenNoResponseBeginsInTime() {
    options(context -> context.retries(1).retryTimeout(Duration.ofMillis(500)));
    final EmbeddedSocket first = bench.server();
    client.receive(GET);
    final EmbeddedSocket second = bench.server();
    client.pass(499);
    assertTrue(first.isOpen());
    client.pass(1);
    assertFalse(first.isOpen());
    assertEquals(GET, second.sent());
    client.pass(10_000);
    assertTrue(second.isOpen(), "it is the last attempt");
    second.receive(OK);
    assertEquals(OK, client.sent());
  }

  @Test
  void shouldCountARepetitionAfterAFailureAsOneInTime() {
    options(context -> context.retries(1).retryTimeout(Duration.ofMillis(500)));
    final EmbeddedSocket first = bench.server();
    client.receive(GET);
    client.pass(400);
    final EmbeddedSocket second = bench.server();
    first.close();
    assertEquals(GET, second.sent());
    client.pass(10_000);
    assertTrue(second.isOpen(), "it is the last attempt");
  }

  @ParameterizedTest
  @ValueSource(strings = {"HTTP/1.1 103 Early Hints\r\n\r\n", HALF})
  void shouldNotAskAnotherServerWhenAResponseHasBegun(String begin) {
    options(context -> context.retryTimeout(Duration.ofMillis(500)));
    final EmbeddedSocket server = bench.server();
    client.receive(GET);
    server.receive(begin);
    client.pass(10_000);
    assertTrue(server.isOpen());
    assertTrue(client.isOpen());
  }

  @Test
  void shouldNotRepeatInTimeWhatMustNotComeTwice() {
    options(context -> context.retryTimeout(Duration.ofMillis(500)));
    final EmbeddedSocket server = bench.server();
    client.receive(PUT);
    final EmbeddedSocket other = bench.server();
    client.receive("ab");
    assertEquals(PUT + "ab", server.sent());
    client.pass(10_000);
    assertTrue(server.isOpen());
    assertEquals("", other.sent());
    client.receive("cd");
    assertEquals("cd", server.sent());
  }

  @Test
  void shouldAnswer503WhereNoConnectionCanBeOpened() {
    client.receive(GET);
    assertAnswered(503, Verdict.ERROR);
    assertEquals(new Messages(1, 0, 0, 0), bench.requests());
    assertEquals(new Messages(0, 0, 0, 1), bench.responses());
    bench.assertServes();
  }

  /** Provides the connection at the second attempt, or after so many more. */
  private void serverComesLate(int moreAttempts) {
    bench.rule =
        request -> {
          late(moreAttempts);
          return HttpVerdict.ALLOWED;
        };
  }

  private void late(int moreAttempts) {
    client.eventLoop().execute(moreAttempts == 0 ? bench::server : () -> late(moreAttempts - 1));
  }

  @ParameterizedTest
  @CsvSource({"0, 0, false", "1, 0, true", "1, 1, false", "2, 1, true", "3, 2, true"})
  void shouldTryToConnectAsOftenAsTheOptionSays(int retries, int more, boolean isForwarded) {
    options(context -> context.retries(retries));
    serverComesLate(more);
    client.receive(GET);
    assertEquals(isForwarded ? GET : "", bench.kept.sent());
    assertEquals(!isForwarded, client.sent().startsWith("HTTP/1.1 503 "));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        GET,
        PUT + "abcd",
        PUT + "ab",
        CHUNKED + "2\r\nab\r\n",
        CHUNKED + "0\r\n\r\n",
        CHUNKED + "2\r\nab\r\n0\r\n\r\n",
        CHUNKED + "0\r\nx-sum: 1\r\n\r\n"
      })
  void shouldSendWhatHasComeBeforeTheConnection(String request) {
    serverComesLate(0);
    client.receive(request);
    final EmbeddedSocket server = bench.kept;
    assertEquals(request, server.sent());
    assertTrue(client.newReads() > 0);
    server.receive(OK);
    assertEquals(OK, client.sent());
  }

  @ParameterizedTest
  @CsvSource({"'', true", "abcd, false", "ab, false"})
  void shouldNotRepeatABodyThatHasComeBeforeTheConnection(String body, boolean isRepeated) {
    serverComesLate(0);
    final String request = body.isEmpty() ? GET : PUT + body;
    client.receive(request);
    final EmbeddedSocket first = bench.kept;
    first.sent();
    final EmbeddedSocket second = bench.server();
    first.close();
    assertEquals(isRepeated ? request : "", second.sent());
    assertEquals(isRepeated, bench.records.isEmpty());
  }

  @Test
  void shouldNotPassTrailersOfTheFramingThatHaveComeBeforeTheConnection() {
    serverComesLate(0);
    client.receive(CHUNKED + "0\r\nHost: b.test\r\nTE: x\r\n\r\n");
    assertEquals(CHUNKED + "0\r\n\r\n", bench.kept.sent());
  }

  @ParameterizedTest
  @CsvSource({"4, false", "65537, true"})
  void shouldReadShortBodiesToTheirEndWhereNoConnectionCanBeOpened(int length, boolean closes) {
    client.receive(PUT.replace(": 4", ": " + length) + "abcd");
    assertEquals(closes, client.isOutputShutdown());
    assertAnswered(503, Verdict.ERROR);
    if (!closes) {
      bench.assertServes();
    }
  }

  @Test
  void shouldKeepTheConnectionOfALongBodyThatHasEndedBeforeTheFailure() {
    final EmbeddedSocket server = bench.server();
    client.receive(PUT.replace(": 4", ": 65537"));
    client.receive("x".repeat(65537));
    server.close();
    assertAnswered(503, Verdict.ERROR);
    bench.assertServes();
  }
}
