package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsProxyContext.Limits;
import agent.dns.proxy.DnsProxyContext.Times;
import agent.dns.proxy.ProxyParts.Asker;
import agent.testkit.RecordedLog;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.xbill.DNS.Rcode;

/** How long the proxy waits where nothing is set, by a clock of the test. */
@Timeout(60)
class DnsProxyTimesTest {
  private static final String WWW = "www.example.com.";
  private static final Duration STEP = Duration.ofMillis(1);
  private static final int UDP = 17;

  /** The clock passes its end. */
  private final AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 5);

  private final List<DnsExchange> asked = new ArrayList<>();
  private ProxyParts parts;

  /** A server that the test answers for. */
  private final class Server implements DnsExchange.Upstream {
    @Override
    public boolean ask(DnsExchange exchange) {
      return asked.add(exchange);
    }

    @Override
    public void forget(DnsExchange exchange) {
      // it has no socket
    }
  }

  @BeforeEach
  void start() throws IOException {
    parts = new ProxyParts(Times.DEFAULT, Limits.DEFAULT, nowNs::get);
    parts.start();
  }

  @AfterEach
  void close() throws IOException {
    parts.close();
  }

  private Asker ask(DnsExchange.Upstream server) {
    final Asker client = new Asker(parts.flow(UDP, 1_000), server);
    parts.onThread(
        () -> {
          parts.exchanges.onMessage(client, question(WWW));
          return null;
        });
    return client;
  }

  private void answer(String zone) {
    final DnsExchange exchange = asked.getLast();
    parts.onThread(
        () -> {
          final byte[] query = exchange.question.withIdentifier(exchange.identifier);
          parts.exchanges.onAnswer(exchange, ScriptedServer.answer(query, zone));
          return null;
        });
  }

  /** Advances the clock, and does what the proxy does at its ticks. */
  private void pass(Duration time) {
    nowNs.addAndGet(time.toNanos());
    parts.onThread(
        () -> {
          parts.exchanges.expire();
          parts.upstreams.closeIdle();
          parts.connections.step();
          return null;
        });
  }

  @Test
  void shouldWaitTenSecondsForTheServer() {
    ask(new Server());
    pass(Duration.ofSeconds(10).minus(STEP));
    assertEquals(0, parts.exchanges.counted(DnsCounter.TIMED_OUT));
    pass(STEP);
    assertEquals(1, parts.exchanges.counted(DnsCounter.TIMED_OUT));
  }

  @Test
  void shouldHoldAnAnswerForTwoSeconds() {
    parts.rig.enforced = new CompletableFuture<>();
    final Asker client = ask(new Server());
    pass(Duration.ofSeconds(7));
    answer(WWW + " 60 IN A 192.0.2.7\n");
    pass(Duration.ofSeconds(2).minus(STEP));
    assertEquals(List.of(), client.codes());
    pass(STEP);
    assertEquals(List.of(Rcode.SERVFAIL), client.codes());
    assertEquals(1, parts.exchanges.counted(DnsCounter.UNENFORCED));
  }

  /** Another question of the flow keeps it open. */
  @Test
  void shouldCloseASocketToAServerAfterASecond() {
    final UdpUpstream upstream = parts.onThread(() -> parts.upstreams.of(parts.flow(UDP, 1_000)));
    parts.onThread(() -> use(upstream));
    pass(Duration.ofMillis(900));
    parts.onThread(() -> use(upstream));
    pass(Duration.ofSeconds(1).minus(STEP));
    assertEquals(1, parts.uses.all.sockets);
    pass(STEP);
    assertEquals(0, parts.uses.all.sockets);
  }

  private Object use(UdpUpstream upstream) {
    parts.upstreams.busy(upstream);
    parts.upstreams.idle(upstream);
    return null;
  }

  /** The end of a question begins the time anew. */
  @Test
  void shouldCloseAConnectionAfterThirtySeconds() throws Exception {
    parts.rig.connectNowhere();
    assertRestsForThirtySecondsAfter(Rcode.SERVFAIL);
  }

  /** A server has sent all its responses when a connection begins to rest (RFC 7766 section 3). */
  @Test
  void shouldCloseAConnectionThirtySecondsAfterItsLastQuestionWasDenied() throws Exception {
    parts.rig.denied.add("www.example.com");
    assertRestsForThirtySecondsAfter(Rcode.REFUSED);
  }

  private void assertRestsForThirtySecondsAfter(int code) throws Exception {
    try (ServerSocketChannel port = serve();
        TcpPeer client = new TcpPeer((InetSocketAddress) port.getLocalAddress())) {
      await(() -> parts.onThread(() -> parts.uses.all.connections) == 1);
      pass(Duration.ofSeconds(20));
      client.send(question(WWW));
      assertEquals(code, DnsQuestion.codeOf(client.receive()));
      pass(Duration.ofSeconds(30).minus(STEP));
      assertEquals(1, parts.uses.all.connections);
      pass(STEP);
      assertEquals(0, parts.uses.all.connections);
      assertTrue(client.isEnded());
    }
  }

  /** Opens a port of the proxy over TCP. */
  private ServerSocketChannel serve() throws IOException {
    final ServerSocketChannel port = ServerSocketChannel.open();
    port.bind(new InetSocketAddress("127.0.0.1", 0));
    parts.onThread(
        () -> {
          parts.connections.serve(port);
          return null;
        });
    return port;
  }

  /** It may ask again: the question that got no answer is not the reason to close. */
  @Test
  void shouldCloseAConnectionThirtySecondsAfterItsLastQuestionTimedOut() throws Exception {
    parts.rig.server.script = (question, reply) -> {};
    try (ServerSocketChannel port = serve();
        TcpPeer client = new TcpPeer((InetSocketAddress) port.getLocalAddress())) {
      await(() -> parts.onThread(() -> parts.uses.all.connections) == 1);
      client.send(question(WWW));
      await(() -> parts.exchanges.counted(DnsCounter.RECEIVED) == 1);
      pass(Duration.ofSeconds(10));
      assertEquals(1, parts.exchanges.counted(DnsCounter.TIMED_OUT));
      pass(Duration.ofSeconds(30).minus(STEP));
      assertEquals(1, parts.uses.all.connections);
      pass(STEP);
      assertEquals(0, parts.uses.all.connections);
      assertTrue(client.isEnded());
    }
  }

  /** Every answer is cut, since one of its addresses stays closed. */
  @Test
  void shouldLogCutAnswersOnceAMinute() throws Exception {
    parts.rig.closed = Set.of(IpAddress.parse("192.0.2.8"));
    try (RecordedLog log = RecordedLog.of(Exchanges.class)) {
      for (final Duration since :
          List.of(Duration.ZERO, Duration.ofMinutes(1).minus(STEP), STEP, STEP)) {
        pass(since);
        ask(new Server());
        answer(WWW + " 60 IN A 192.0.2.7\n" + WWW + " 60 IN A 192.0.2.8\n");
      }
      final List<String> lines = log.take();
      assertEquals(2, lines.size(), lines::toString);
      assertTrue(
          lines.getFirst().endsWith("the 1 of 2 addresses that are in force; 1 answers cut so far"),
          lines::toString);
      assertTrue(lines.getLast().endsWith("; 3 answers cut so far"), lines::toString);
    }
  }
}
