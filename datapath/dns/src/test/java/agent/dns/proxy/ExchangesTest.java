package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.dns.proxy.DnsProxyContext.Limits;
import agent.dns.proxy.DnsProxyContext.Times;
import agent.dns.proxy.ProxyParts.Asker;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import agent.types.IpAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.xbill.DNS.Rcode;

/** What becomes of a question: of its reply, its room, its counters and its event. */
class ExchangesTest {
  private static final String WWW = "www.example.com.";
  private static final String ZONE = "www.example.com. 60 IN A 192.0.2.7\n";
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final int UDP = 17;

  private final Server server = new Server();
  private ProxyParts parts;
  private Asker client;

  /** A socket to a server that the test answers for. */
  private static final class Server implements DnsExchange.Upstream {
    private final List<DnsExchange> asked = new ArrayList<>();
    private final List<DnsExchange> forgotten = new ArrayList<>();
    private boolean takesQuestions = true;

    @Override
    public boolean ask(DnsExchange exchange) {
      asked.add(exchange);
      return takesQuestions;
    }

    @Override
    public void forget(DnsExchange exchange) {
      forgotten.add(exchange);
    }
  }

  private void open(Duration answer, Duration enforcement, int questions, int ofEndpoint)
      throws IOException {
    parts =
        new ProxyParts(
            new Times(answer, enforcement, LONG, LONG),
            new Limits(questions, ofEndpoint, 10, 10, 10, 10));
    client = new Asker(parts.flow(UDP, 1_000), server);
  }

  private void open(Duration answer, Duration enforcement) throws IOException {
    open(answer, enforcement, 100, 100);
  }

  @AfterEach
  void close() throws IOException {
    parts.close();
  }

  private DnsExchange ask() throws IOException {
    parts.exchanges.onMessage(client, question(WWW));
    return server.asked.getLast();
  }

  private static byte[] answer(DnsExchange exchange, String zone) throws IOException {
    return ScriptedServer.answer(exchange.question.withIdentifier(exchange.identifier), zone);
  }

  private void assertReplies(Integer... codes) {
    assertEquals(List.of(codes), client.codes());
  }

  private void assertOutstanding(int questions) {
    assertEquals(
        List.of(questions, questions, questions),
        List.of(
            parts.uses.all.questions,
            parts.uses.of(FakeRedirect.ENDPOINT).questions,
            client.outstanding));
  }

  private void assertCounted(Messages requests, Messages responses) {
    final RedirectStatistics all =
        parts.exchanges.redirectCounters().statistics(FakeRedirect.ENDPOINT).getFirst();
    assertEquals(List.of(requests, responses), List.of(all.requests(), all.responses()));
  }

  private void assertReported(String... wanted) {
    assertEquals(
        List.of(wanted),
        parts.rig.events.stream()
            .map(
                event ->
                    "%s %d %s %s %d"
                        .formatted(
                            event.name(),
                            event.responseCode(),
                            event.verdict(),
                            event.addresses(),
                            event.ttlSec()))
            .toList());
  }

  private long counted(DnsCounter counter) {
    return parts.exchanges.counted(counter);
  }

  @Test
  void shouldPassAnAnswerOnce() throws Exception {
    open(LONG, LONG);
    final DnsExchange exchange = ask();
    assertOutstanding(1);
    parts.exchanges.onSent(exchange);
    final byte[] answer = answer(exchange, ZONE);
    parts.exchanges.onAnswer(exchange, answer);
    parts.exchanges.onAnswer(exchange, answer);
    parts.exchanges.onServerFailed(exchange);
    assertReplies(Rcode.NOERROR);
    assertOutstanding(0);
    assertReported(WWW + " 0 FORWARDED [192.0.2.7] 60");
    assertCounted(new Messages(1, 1, 0, 0), new Messages(1, 1, 0, 0));
    assertEquals(1, counted(DnsCounter.FORWARDED));
    assertEquals(1, counted(DnsCounter.SPOOFED));
    assertEquals(0, counted(DnsCounter.ERROR));
    assertNull(exchange.client);
    assertNull(exchange.answer);
  }

  @Test
  void shouldDropWhatIsNoQuestion() throws Exception {
    open(LONG, LONG);
    parts.exchanges.onMessage(client, new byte[3]);
    assertReplies();
    assertReported();
    assertCounted(new Messages(1, 0, 0, 1), Messages.NONE);
    assertEquals(1, counted(DnsCounter.RECEIVED));
    assertEquals(1, counted(DnsCounter.ERROR));
  }

  @Test
  void shouldRefuseWhatIsMalformedOrDenied() throws Exception {
    open(LONG, LONG);
    parts.exchanges.onMessage(client, Arrays.copyOf(question(WWW), 20));
    parts.rig.denied.add("www.example.com");
    parts.exchanges.onMessage(client, question(WWW));
    assertReplies(Rcode.FORMERR, Rcode.REFUSED);
    assertReported(". 1 ERROR [] 0", WWW + " 5 DENIED [] 0");
    assertCounted(new Messages(2, 0, 1, 1), Messages.NONE);
    assertEquals(1, counted(DnsCounter.ERROR));
    assertEquals(1, counted(DnsCounter.DENIED));
    assertOutstanding(0);
    assertEquals(List.of(), server.asked);
  }

  @ParameterizedTest
  @CsvSource({"2, 100", "100, 2"})
  void shouldRefuseAQuestionThatThereIsNoRoomFor(int questions, int ofEndpoint) throws Exception {
    open(LONG, LONG, questions, ofEndpoint);
    final DnsExchange exchange = ask();
    ask();
    assertReplies();
    ask();
    assertReplies(Rcode.SERVFAIL);
    assertOutstanding(2);
    assertEquals(2, server.asked.size());
    parts.exchanges.onAnswer(exchange, answer(exchange, ""));
    ask();
    assertReplies(Rcode.SERVFAIL, Rcode.NOERROR);
    assertOutstanding(2);
  }

  /** A denied question needs no room. */
  @Test
  void shouldRefuseADeniedNameAsSuchWhereThereIsNoRoom() throws Exception {
    open(LONG, LONG, 1, 1);
    ask();
    parts.rig.denied.add("evil.example.com");
    parts.exchanges.onMessage(client, question("evil.example.com."));
    assertReplies(Rcode.REFUSED);
    assertReported("evil.example.com. 5 DENIED [] 0");
    assertEquals(1, counted(DnsCounter.DENIED));
    assertEquals(0, counted(DnsCounter.ERROR));
  }

  @Test
  void shouldRefuseAQuestionThatNoSocketTakes() throws Exception {
    open(Duration.ZERO, LONG);
    server.takesQuestions = false;
    ask();
    client.upstream = null;
    ask();
    assertReplies(Rcode.SERVFAIL, Rcode.SERVFAIL);
    assertOutstanding(0);
    parts.exchanges.onServerFailed(server.asked.getFirst());
    parts.exchanges.expire();
    assertReported(WWW + " 2 ERROR [] 0", WWW + " 2 ERROR [] 0");
    assertEquals(2, counted(DnsCounter.ERROR));
    assertEquals(0, counted(DnsCounter.TIMED_OUT));
    assertCounted(new Messages(2, 0, 0, 2), Messages.NONE);
  }

  @Test
  void shouldAnswerAFailureOfTheServer() throws Exception {
    open(LONG, LONG);
    parts.exchanges.onServerFailed(ask());
    assertReplies(Rcode.SERVFAIL);
    assertReported(WWW + " 2 ERROR [] 0");
    assertOutstanding(0);
    assertCounted(new Messages(1, 0, 0, 0), new Messages(0, 0, 0, 1));
  }

  @Test
  void shouldAnswerAFailureInPlaceOfWhatItCannotRead() throws Exception {
    open(LONG, LONG);
    final DnsExchange exchange = ask();
    final byte[] answer = answer(exchange, ZONE);
    parts.exchanges.onAnswer(exchange, Arrays.copyOf(answer, answer.length - 1));
    assertReplies(Rcode.SERVFAIL);
    assertReported(WWW + " 2 ERROR [] 0");
    assertOutstanding(0);
    assertEquals(1, counted(DnsCounter.ERROR));
    assertCounted(new Messages(1, 0, 0, 0), new Messages(1, 0, 0, 1));
  }

  @Test
  void shouldForgetAQuestionAtItsDeadline() throws Exception {
    open(Duration.ZERO, LONG);
    final List<DnsExchange> exchanges = List.of(ask(), ask());
    parts.exchanges.expire();
    assertReplies();
    assertEquals(exchanges, server.forgotten);
    assertOutstanding(0);
    assertEquals(2, counted(DnsCounter.TIMED_OUT));
    assertReported(WWW + " -1 ERROR [] 0", WWW + " -1 ERROR [] 0");
    assertCounted(new Messages(2, 0, 0, 0), new Messages(0, 0, 0, 2));
    parts.exchanges.onAnswer(exchanges.getFirst(), new byte[12]);
    assertEquals(1, counted(DnsCounter.SPOOFED));
  }

  @Test
  void shouldKeepAQuestionUntilItsDeadline() throws Exception {
    open(LONG, LONG);
    final DnsExchange exchange = ask();
    parts.exchanges.expire();
    assertOutstanding(1);
    assertEquals(List.of(), server.forgotten);
    parts.exchanges.onAnswer(exchange, answer(exchange, ""));
    assertReplies(Rcode.NOERROR);
  }

  @Test
  void shouldForgetTheQuestionsBehindThoseThatHaveEnded() throws Exception {
    open(Duration.ZERO, LONG);
    final DnsExchange first = ask();
    final DnsExchange second = ask();
    parts.exchanges.onAnswer(first, answer(first, ""));
    parts.exchanges.expire();
    assertEquals(List.of(second), server.forgotten);
    assertEquals(1, counted(DnsCounter.TIMED_OUT));
  }

  @Test
  void shouldHoldAnAnswerBeyondTheDeadlineOfTheServer() throws Exception {
    open(Duration.ZERO, LONG);
    parts.rig.enforced = new CompletableFuture<>();
    final DnsExchange exchange = ask();
    parts.exchanges.onAnswer(exchange, answer(exchange, ZONE));
    parts.exchanges.expire();
    assertReplies();
    assertOutstanding(1);
    assertEquals(0, counted(DnsCounter.TIMED_OUT));
    assertEquals(0, counted(DnsCounter.UNENFORCED));
  }

  @Test
  void shouldReplaceAnAnswerThatTheRulesDoNotUseInTime() throws Exception {
    open(LONG, Duration.ZERO);
    parts.rig.enforced = new CompletableFuture<>();
    final DnsExchange exchange = ask();
    parts.exchanges.onAnswer(exchange, answer(exchange, ZONE));
    parts.exchanges.expire();
    assertReplies(Rcode.SERVFAIL);
    assertOutstanding(0);
    assertEquals(1, counted(DnsCounter.UNENFORCED));
    assertReported(WWW + " 2 ERROR [192.0.2.7] 60");
    assertCounted(new Messages(1, 0, 0, 0), new Messages(1, 0, 0, 1));
    assertEquals(
        List.of(IpAddress.parse("192.0.2.7")), parts.rig.found.getFirst().answer().addresses());
  }

  @Test
  void shouldForgetEndpointsThatHaveNoQuestion() throws Exception {
    open(Duration.ZERO, LONG);
    final EndpointUse use = parts.uses.of(FakeRedirect.ENDPOINT);
    ask();
    parts.exchanges.expire();
    assertEquals(0, use.questions);
    assertNotSame(use, parts.uses.of(FakeRedirect.ENDPOINT));
  }

  /** A change of policy denies the name while the server is asked. */
  @Test
  void shouldCountADenialOfAnAnswerAsOneOfTheQuestion() throws Exception {
    open(LONG, LONG);
    final DnsExchange exchange = ask();
    parts.rig.denied.add("www.example.com");
    parts.exchanges.policiesChanged();
    parts.exchanges.onAnswer(exchange, answer(exchange, ZONE));
    assertReplies(Rcode.REFUSED);
    assertReported(WWW + " 5 DENIED [192.0.2.7] 60");
    assertCounted(new Messages(1, 0, 1, 0), new Messages(1, 0, 0, 0));
    assertEquals(1, counted(DnsCounter.DENIED));
    assertOutstanding(0);
  }

  /** A packet of the client waits for it: the thread of the proxy, which waits, is not woken. */
  @Test
  void shouldReleaseAnAnswerOnTheThreadThatEnforcesItsAddresses() throws Exception {
    open(LONG, LONG);
    parts.rig.enforced = new CompletableFuture<>();
    final DnsExchange exchange = ask();
    parts.exchanges.onAnswer(exchange, answer(exchange, ZONE));
    assertReplies();
    parts.rig.enforced.complete(null);
    assertReplies(Rcode.NOERROR);
  }

  /** A client may use its addresses without asking again over TCP. */
  @Test
  void shouldHoldATruncatedAnswerThatHasAddresses() throws Exception {
    open(LONG, LONG);
    parts.rig.enforced = new CompletableFuture<>();
    final DnsExchange exchange = ask();
    final byte[] answer = answer(exchange, ZONE);
    answer[2] |= 2;
    parts.exchanges.onAnswer(exchange, answer);
    assertReplies();
    parts.rig.enforced.complete(null);
    assertReplies(Rcode.NOERROR);
  }
}
