package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsProxyContext.Limits;
import agent.dns.proxy.DnsProxyContext.Times;
import agent.dns.proxy.ProxyParts.Asker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xbill.DNS.Rcode;

/** The sockets of clients and servers over UDP; one that is idle is closed at once. */
@Timeout(60)
class UdpSocketsTest {
  private static final String WWW = "www.example.com.";
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final Limits LIMITS = new Limits(10_000, 10_000, 10, 10, 10, 10);
  private static final int UDP = 17;

  private ProxyParts parts;
  private DatagramSocket server;
  private SocketAddress asker;

  @BeforeEach
  void open() throws IOException {
    parts = new ProxyParts(new Times(LONG, LONG, Duration.ZERO, LONG), LIMITS);
    serve(InetAddress.getByName("127.0.0.1"));
  }

  private void serve(InetAddress address) throws IOException {
    server = new DatagramSocket(0, address);
    server.setSoTimeout(10_000);
    parts.rig.redirect.server = (InetSocketAddress) server.getLocalSocketAddress();
  }

  @AfterEach
  void close() throws IOException {
    parts.close();
    server.close();
  }

  private void reopen(Times times, Limits limits) throws IOException {
    parts.close();
    parts = new ProxyParts(times, limits);
    parts.rig.redirect.server = (InetSocketAddress) server.getLocalSocketAddress();
  }

  private Asker client() {
    final var flow = parts.flow(UDP, 1_000);
    return new Asker(flow, parts.upstreams.of(flow));
  }

  private static UdpUpstream socket(Asker client) {
    return (UdpUpstream) client.upstream;
  }

  private byte[] receive() throws IOException {
    final DatagramPacket packet = new DatagramPacket(new byte[65_535], 65_535);
    server.receive(packet);
    asker = packet.getSocketAddress();
    return Arrays.copyOf(packet.getData(), packet.getLength());
  }

  private void send(byte[] message) throws IOException {
    server.send(new DatagramPacket(message, message.length, asker));
  }

  private static void ready(ProxyLoop.Socket socket) {
    try {
      socket.onReady(null);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void assertClosedWhereItIsIdle() {
    assertEquals(1, parts.uses.all.sockets);
    parts.upstreams.closeIdle();
    assertEquals(0, parts.uses.all.sockets);
  }

  private void assertAnswered(Asker client) throws Exception {
    send(ScriptedServer.answer(receive(), ""));
    final int before = client.replies.size();
    await(
        () -> {
          ready(socket(client));
          return client.replies.size() > before;
        });
    assertEquals(Rcode.NOERROR, client.codes().getLast());
  }

  @Test
  void shouldStayOpenWhileItHasAQuestion() throws Exception {
    final Asker client = client();
    for (int i = 0; i < 2; i++) {
      parts.exchanges.onMessage(client, question(WWW));
      parts.upstreams.closeIdle();
      assertEquals(1, parts.uses.all.sockets);
      assertAnswered(client);
    }
    assertClosedWhereItIsIdle();
  }

  @Test
  void shouldBeIdleAfterAQuestionThatItCannotSend() throws Exception {
    final Asker client = client();
    parts.exchanges.onMessage(client, Arrays.copyOf(question(WWW), 65_520));
    assertEquals(List.of(Rcode.SERVFAIL), client.codes());
    assertClosedWhereItIsIdle();
  }

  @Test
  void shouldBeIdleWhereNoServerListens() throws Exception {
    server.connect(InetAddress.getLoopbackAddress(), 1); // it takes packets of this peer alone
    final Asker client = client();
    parts.exchanges.onMessage(client, question(WWW));
    await(
        () -> {
          ready(socket(client));
          return !client.replies.isEmpty();
        });
    assertEquals(List.of(Rcode.SERVFAIL), client.codes());
    assertClosedWhereItIsIdle();
  }

  @Test
  void shouldRefuseAQuestionWhere4096HaveNoAnswer() throws Exception {
    join();
    final Asker client = client();
    for (int i = 0; i < 4_096; i++) {
      parts.exchanges.onMessage(client, question(WWW));
    }
    assertEquals(List.of(), client.codes());
    parts.exchanges.onMessage(client, question(WWW));
    assertEquals(List.of(Rcode.SERVFAIL), client.codes());
    assertEquals(4_096, client.outstanding);
  }

  /** The server is an endpoint: its flow has to be joined, which the test does. */
  private void join() {
    parts.rig.redirect.serverEndpoint = 9;
    parts.rig.redirect.join = new CompletableFuture<>();
  }

  /** What it sent would be of the node, and no flow of the client. */
  @Test
  void shouldSendNothingWhereItCannotJoinItsFlow() throws Exception {
    join();
    final Asker client = client();
    parts.exchanges.onMessage(client, question(WWW));
    final UdpUpstream unjoined = socket(client);
    unjoined.onJoined(new IOException("planned"));
    assertEquals(List.of(Rcode.SERVFAIL), client.codes());
    assertEquals(0, parts.uses.all.sockets);
    assertEquals(List.of(unjoined.port), parts.rig.redirect.left);
    assertNotSame(unjoined, parts.upstreams.of(client.flow()));
    assertEquals(2, parts.rig.redirect.joined.size());
  }

  @Test
  void shouldSendOnceWhatHasWaitedForItsFlow() throws Exception {
    join();
    final Asker client = client();
    parts.exchanges.onMessage(client, question("first.example.com."));
    socket(client).onJoined(null);
    socket(client).onJoined(null);
    parts.exchanges.onMessage(client, question("second.example.com."));
    assertEquals("first.example.com.", DnsQuestion.read(receive()).name());
    assertEquals("second.example.com.", DnsQuestion.read(receive()).name());
  }

  @Test
  void shouldFailItsQuestionsAndLeaveItsFlowWhereItFails() throws Exception {
    join();
    final Asker client = client();
    parts.exchanges.onMessage(client, question(WWW));
    parts.exchanges.onMessage(client, question(WWW));
    socket(client).onFailed();
    assertEquals(Collections.nCopies(2, Rcode.SERVFAIL), client.codes());
    assertEquals(0, client.outstanding);
    assertEquals(0, parts.uses.all.sockets);
    assertEquals(List.of(socket(client).port), parts.rig.redirect.left);
  }

  @Test
  void shouldReadUpTo32AnswersAtATime() throws Exception {
    final Asker client = client();
    parts.exchanges.onMessage(client, question(WWW));
    receive();
    for (int i = 0; i < 100; i++) {
      send(new byte[12]);
    }
    assertCountsUpTo(32, DnsCounter.SPOOFED, socket(client));
  }

  /** Makes a socket read 100 messages. */
  private void assertCountsUpTo(int most, DnsCounter counter, ProxyLoop.Socket socket)
      throws InterruptedException {
    await(
        () -> {
          final long before = parts.exchanges.counted(counter);
          ready(socket);
          final long read = parts.exchanges.counted(counter) - before;
          assertTrue(read <= most, read + " messages");
          return before + read == 100;
        });
  }

  @Test
  void shouldReadUpTo64QuestionsAtATime() throws Exception {
    parts.rig.redirect.knowsFlows = false;
    try (DatagramChannel port = port();
        DatagramSocket client = new DatagramSocket()) {
      for (int i = 0; i < 100; i++) {
        client.send(new DatagramPacket(new byte[12], 12, port.getLocalAddress()));
      }
      final UdpClients clients = new UdpClients(port, parts.rig.redirect, parts.upstreams);
      assertCountsUpTo(64, DnsCounter.UNKNOWN_FLOW, clients);
    }
  }

  private static DatagramChannel port() throws IOException {
    final DatagramChannel port = DatagramChannel.open();
    port.bind(new InetSocketAddress("127.0.0.1", 0)).configureBlocking(false);
    return port;
  }

  @Test
  void shouldCountTheFailureOfAPortAndKeepItOpen() throws Exception {
    try (DatagramChannel port = port()) {
      new UdpClients(port, parts.rig.redirect, parts.upstreams).onFailed();
      assertEquals(1, parts.exchanges.counted(DnsCounter.ERROR));
      assertTrue(port.isOpen());
    }
  }

  /** The longest datagram of IPv6 is not one of IPv4. */
  @Test
  void shouldCountAnAnswerThatItCannotSend() throws Exception {
    server.close();
    serve(InetAddress.getByName("::1"));
    try (DatagramChannel port = port();
        DatagramSocket client = new DatagramSocket()) {
      final UdpClients clients = new UdpClients(port, parts.rig.redirect, parts.upstreams);
      client.connect(port.getLocalAddress());
      client.setSoTimeout(10_000);
      final byte[] question = question(WWW);
      client.send(new DatagramPacket(question, question.length));
      await(
          () -> {
            ready(clients);
            return parts.uses.all.sockets == 1;
          });
      send(Arrays.copyOf(ScriptedServer.answer(receive(), ""), 65_520));
      final UdpUpstream upstream = parts.upstreams.of(parts.flow(UDP, client.getLocalPort()));
      await(
          () -> {
            ready(upstream);
            return parts.exchanges.counted(DnsCounter.ERROR) == 1;
          });
      assertEquals(1, parts.exchanges.counted(DnsCounter.FORWARDED));
    }
  }

  /** One that ended would be closed in place of one that gives its room. */
  @Test
  void shouldHaveNoRoomByASocketThatHasFailed() throws Exception {
    reopen(new Times(LONG, LONG, Duration.ZERO, LONG), new Limits(100, 100, 20, 10, 10, 10));
    final Asker client = client();
    parts.exchanges.onMessage(client, question(WWW));
    final UdpUpstream failed = socket(client);
    failed.onFailed();
    failed.forget(new DnsExchange(client, null, null, null));
    for (int port = 1; port <= 10; port++) {
      assertNotNull(parts.upstreams.of(parts.flow(UDP, port)));
    }
    assertNull(parts.upstreams.of(parts.flow(UDP, 11)));
    assertEquals(10, parts.uses.all.sockets);
  }

  /** The family of the server decides the address that a joined socket has. */
  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "::1"})
  void shouldBindASocketThatIsJoinedToTheAddressOfItsFamily(String address) throws Exception {
    server.close();
    serve(InetAddress.getByName(address));
    parts.rig.redirect.hasIpv6 = true;
    parts.rig.redirect.serverEndpoint = 9;
    final Asker client = client();
    parts.exchanges.onMessage(client, question(WWW));
    socket(client).onJoined(null);
    receive();
    assertEquals(InetAddress.getByName(address), ((InetSocketAddress) asker).getAddress());
  }

  @Test
  void shouldSendNoQuestionThatWasOverBeforeItsFlowWasJoined() throws Exception {
    reopen(new Times(Duration.ZERO, LONG, Duration.ZERO, LONG), LIMITS);
    join();
    final Asker client = client();
    parts.exchanges.onMessage(client, question("first.example.com."));
    parts.exchanges.expire();
    parts.exchanges.onMessage(client, question("second.example.com."));
    socket(client).onJoined(null);
    assertEquals("second.example.com.", DnsQuestion.read(receive()).name());
  }

  @Test
  void shouldBeIdleAfterAQuestionThatItCannotSendOnceItIsJoined() throws Exception {
    join();
    final Asker client = client();
    parts.exchanges.onMessage(client, Arrays.copyOf(question(WWW), 65_520));
    socket(client).onJoined(null);
    assertEquals(List.of(Rcode.SERVFAIL), client.codes());
    assertClosedWhereItIsIdle();
  }
}
