package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsProxyContext.Limits;
import agent.dns.proxy.DnsProxyContext.Times;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.xbill.DNS.Rcode;

/** What there is no room for, and what has its room back. */
@Timeout(60)
class DnsProxyRoomTest {
  private static final String WWW = "www.example.com.";
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final Duration SHORT = Duration.ofMillis(200);
  private static final Times TIMES = new Times(LONG, LONG, LONG, LONG);

  private ProxyRig rig;

  @BeforeEach
  void open() throws IOException {
    rig = new ProxyRig();
  }

  @AfterEach
  void close() throws IOException {
    rig.close();
  }

  private void assertAnswered(int code, ProxyRig.Udp client) throws IOException {
    assertEquals(code, client.ask(question(WWW))[3] & 0xf);
  }

  private void answersNothing() {
    rig.server.script = (question, reply) -> {};
  }

  private void answers() {
    rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, ""));
  }

  @ParameterizedTest
  @CsvSource({"2, 100", "100, 2"})
  void shouldHaveTwoQuestionsAtAServerAtATime(int questions, int ofEndpoint) throws Exception {
    answersNothing();
    rig.start(
        rig.context().times(TIMES).limits(new Limits(questions, ofEndpoint, 100, 100, 10, 10)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      client.send(question(WWW));
      await(() -> rig.server.questions.size() == 2);
      answers();
      assertAnswered(Rcode.SERVFAIL, client);
    }
    assertEquals(2, rig.server.questions.size());
    assertEquals(1, rig.count(DnsCounter.ERROR));
  }

  @ParameterizedTest
  @CsvSource({"2, 100", "100, 2"})
  void shouldHaveTwoSocketsToServersAtATime(int sockets, int ofEndpoint) throws Exception {
    answersNothing();
    rig.start(rig.context().times(TIMES).limits(new Limits(100, 100, sockets, ofEndpoint, 10, 10)));
    try (ProxyRig.Udp first = rig.new Udp();
        ProxyRig.Udp second = rig.new Udp();
        ProxyRig.Udp third = rig.new Udp()) {
      first.send(question(WWW));
      second.send(question(WWW));
      await(() -> rig.server.questions.size() == 2);
      answers();
      assertAnswered(Rcode.SERVFAIL, third);
      assertAnswered(Rcode.NOERROR, second);
    }
    assertEquals(3, rig.server.questions.size());
  }

  @ParameterizedTest
  @CsvSource({"2, 100", "100, 2"})
  void shouldCloseTheSocketThatHasBeenIdleForTheLongestTime(int sockets, int ofEndpoint)
      throws Exception {
    answers();
    rig.redirect.serverEndpoint = 9;
    rig.start(rig.context().times(TIMES).limits(new Limits(100, 100, sockets, ofEndpoint, 10, 10)));
    try (ProxyRig.Udp first = rig.new Udp();
        ProxyRig.Udp second = rig.new Udp();
        ProxyRig.Udp third = rig.new Udp();
        ProxyRig.Udp fourth = rig.new Udp()) {
      for (final ProxyRig.Udp client : List.of(first, second, first, third, fourth)) {
        assertAnswered(Rcode.NOERROR, client);
        assertAnswered(Rcode.NOERROR, client);
      }
    }
    final List<Integer> joined = rig.redirect.joined;
    assertEquals(4, joined.size());
    assertEquals(List.of(joined.get(1), joined.get(0)), rig.redirect.left);
    for (final int port : rig.redirect.left) {
      await(() -> isFree(port));
    }
  }

  private static boolean isFree(int port) {
    try (DatagramSocket _ = new DatagramSocket(port, InetAddress.getLoopbackAddress())) {
      return true;
    } catch (IOException taken) {
      return false;
    }
  }

  @ParameterizedTest
  @CsvSource({"2, 100", "100, 2"})
  void shouldHaveTwoConnectionsOfClientsAtATime(int connections, int ofEndpoint) throws Exception {
    answers();
    rig.start(
        rig.context().times(TIMES).limits(new Limits(100, 100, 100, 100, connections, ofEndpoint)));
    try (ProxyRig.Tcp first = rig.new Tcp();
        ProxyRig.Tcp second = rig.new Tcp();
        ProxyRig.Tcp third = rig.new Tcp()) {
      assertTrue(third.isEnded());
      assertEquals(1, rig.count(DnsCounter.ERROR));
      for (final ProxyRig.Tcp client : List.of(first, second)) {
        client.send(question(WWW));
        assertEquals(Rcode.NOERROR, client.receive()[3] & 0xf);
      }
    }
  }

  /** One endpoint has all the questions, or all the sockets to servers, that one may have. */
  @ParameterizedTest
  @CsvSource({"2, 100", "100, 2"})
  void shouldLeaveAnotherEndpointItsQuestionsAndSockets(int questions, int sockets)
      throws Exception {
    answersNothing();
    rig.start(rig.context().times(TIMES).limits(new Limits(100, questions, 100, sockets, 10, 10)));
    try (ProxyRig.Udp first = rig.new Udp();
        ProxyRig.Udp second = rig.new Udp();
        ProxyRig.Udp third = rig.new Udp();
        ProxyRig.Udp others = rig.new Udp()) {
      first.send(question(WWW));
      second.send(question(WWW));
      await(() -> rig.server.questions.size() == 2);
      answers();
      assertAnswered(Rcode.SERVFAIL, third);
      rig.redirect.endpoint = FakeRedirect.ENDPOINT + 1;
      assertAnswered(Rcode.NOERROR, others);
      rig.redirect.endpoint = FakeRedirect.ENDPOINT;
      assertAnswered(Rcode.SERVFAIL, third);
    }
  }

  @Test
  void shouldLeaveAnotherEndpointItsConnections() throws Exception {
    answers();
    rig.start(rig.context().times(TIMES).limits(new Limits(100, 100, 100, 100, 10, 2)));
    try (ProxyRig.Tcp first = rig.new Tcp();
        ProxyRig.Tcp second = rig.new Tcp();
        ProxyRig.Tcp third = rig.new Tcp()) {
      assertTrue(third.isEnded());
      rig.redirect.endpoint = FakeRedirect.ENDPOINT + 1;
      try (ProxyRig.Tcp others = rig.new Tcp()) {
        for (final ProxyRig.Tcp client : List.of(first, second, others)) {
          client.send(question(WWW));
          assertEquals(Rcode.NOERROR, client.receive()[3] & 0xf);
        }
      }
      rig.redirect.endpoint = FakeRedirect.ENDPOINT;
      try (ProxyRig.Tcp fourth = rig.new Tcp()) {
        assertTrue(fourth.isEnded());
      }
    }
  }

  /** The longest datagram of IPv6 is not one of IPv4: the socket to the server does not take it. */
  @Test
  void shouldGiveBackTheRoomOfAQuestionThatTheSocketDoesNotTake() throws Exception {
    answers();
    rig.redirect.hasIpv6 = true;
    rig.start(rig.context().times(TIMES).limits(new Limits(1, 1, 1, 1, 1, 1)));
    try (DatagramSocket client = new DatagramSocket()) {
      client.connect(InetAddress.getByName("::1"), rig.proxy.firstPort());
      client.setSoTimeout(10_000);
      for (final int length : new int[] {65_520, 65_520, 33}) {
        final byte[] question = Arrays.copyOf(question(WWW), length);
        client.send(new DatagramPacket(question, question.length));
        final DatagramPacket answer = new DatagramPacket(new byte[512], 512);
        client.receive(answer);
        assertEquals(
            length == 33 ? Rcode.NOERROR : Rcode.SERVFAIL, answer.getData()[3] & 0xf, "" + length);
      }
    }
    assertEquals(1, rig.server.questions.size());
  }

  @Test
  void shouldCloseTheSocketOfAQuestionThatHasHadNoAnswer() throws Exception {
    answersNothing();
    rig.redirect.serverEndpoint = 9;
    rig.start(
        rig.context()
            .times(new Times(SHORT, LONG, SHORT, LONG))
            .limits(new Limits(1, 1, 1, 1, 1, 1)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      await(() -> rig.redirect.left.equals(rig.redirect.joined) && rig.events.size() == 1);
      answers();
      assertAnswered(Rcode.NOERROR, client);
    }
    assertEquals(2, rig.redirect.joined.size());
  }

  @Test
  void shouldAskEndpointsFromTheAddressOfThisNodeOrNotAtAll() throws Exception {
    answers();
    rig.redirect.serverEndpoint = 9;
    rig.start(rig.context().times(TIMES));
    rig.redirect.ipv4 = "192.0.2.1"; // no socket can have it
    try (ProxyRig.Udp client = rig.new Udp()) {
      final long before = openSockets();
      for (int i = 0; i < 50; i++) {
        assertAnswered(Rcode.SERVFAIL, client);
      }
      assertTrue(openSockets() - before < 25);
      rig.redirect.ipv4 = "127.0.0.2";
      assertAnswered(Rcode.NOERROR, client);
    }
    final InetSocketAddress asker = (InetSocketAddress) rig.server.askers.getFirst();
    assertEquals("127.0.0.2", asker.getAddress().getHostAddress());
    assertEquals(List.of(asker.getPort()), rig.redirect.joined);
  }

  private static long openSockets() throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.filter(DnsProxyRoomTest::isSocket).count();
    }
  }

  private static boolean isSocket(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
    } catch (IOException closed) {
      return false;
    }
  }

  @Test
  void shouldKeepASocketThatIsNotIdleForLong() throws Exception {
    answers();
    rig.redirect.serverEndpoint = 9;
    rig.start(rig.context().times(new Times(SHORT, LONG, LONG, LONG)));
    try (ProxyRig.Udp client = rig.new Udp();
        ProxyRig.Udp other = rig.new Udp()) {
      assertAnswered(Rcode.NOERROR, client);
      answersNothing();
      other.send(question(WWW));
      await(() -> rig.count(DnsCounter.TIMED_OUT) == 1);
      answers();
      assertAnswered(Rcode.NOERROR, client);
    }
    assertEquals(2, rig.redirect.joined.size());
    assertEquals(List.of(), rig.redirect.left);
  }

  @Test
  void shouldForgetAQuestionOverTcpThatHasHadNoAnswer() throws Exception {
    final CompletableFuture<ScriptedServer.Reply> late = new CompletableFuture<>();
    rig.server.script = (question, reply) -> late.complete(reply);
    rig.start(
        rig.context()
            .times(new Times(SHORT, LONG, LONG, LONG))
            .limits(new Limits(1, 1, 1, 1, 1, 1)));
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      await(() -> rig.events.size() == 1);
      late.join().send(ScriptedServer.answer(rig.server.questions.getFirst(), ""));
      await(() -> rig.count(DnsCounter.SPOOFED) == 1);
      answers();
      client.send(question(WWW));
      assertEquals(Rcode.NOERROR, client.receive()[3] & 0xf);
      assertEquals(1, rig.count(DnsCounter.TIMED_OUT));
    }
    assertEquals(1, Set.copyOf(rig.server.askers).size(), "one connection to the server");
  }

  @Test
  void shouldLeaveTheFlowsOfConnectionsAtItsEnd() throws Exception {
    answers();
    rig.redirect.serverEndpoint = 9;
    rig.start(rig.context().times(TIMES));
    try (ProxyRig.Udp udp = rig.new Udp();
        ProxyRig.Tcp tcp = rig.new Tcp()) {
      assertAnswered(Rcode.NOERROR, udp);
      tcp.send(question(WWW));
      assertEquals(Rcode.NOERROR, tcp.receive()[3] & 0xf);
      assertEquals(List.of(), rig.redirect.left);
      rig.proxy.close();
      assertTrue(tcp.isEnded());
      assertEquals(rig.redirect.joined, rig.redirect.left);
    }
  }
}
