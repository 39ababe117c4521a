package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsProxyContext.Limits;
import agent.dns.proxy.DnsProxyContext.Times;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xbill.DNS.Rcode;

/** What the connections of clients and servers wait for, and when they are closed. */
@Timeout(60)
class TcpSocketsTest {
  private static final String WWW = "www.example.com.";
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final InetSocketAddress ANY = new InetSocketAddress("127.0.0.1", 0);
  private static final int READ = SelectionKey.OP_READ;
  private static final int WRITE = SelectionKey.OP_WRITE;

  /** The bytes of a message with its length, four of which are as much as a queue may have. */
  private static final int QUARTER = 64 << 10;

  private final List<AutoCloseable> opened = new ArrayList<>();
  private ProxyParts parts;
  private ServerSocketChannel port;
  private ServerSocket server;
  private Selector selector;

  @BeforeEach
  void open() throws IOException {
    open(LONG, LONG);
  }

  private void open(Duration answer, Duration idle) throws IOException {
    parts =
        new ProxyParts(
            new Times(answer, LONG, LONG, idle), new Limits(1_000, 1_000, 10, 10, 100, 100));
    port = ServerSocketChannel.open().bind(ANY, 100);
    server = new ServerSocket(0, 50, ANY.getAddress());
    server.setSoTimeout(10_000);
    parts.rig.redirect.server = (InetSocketAddress) server.getLocalSocketAddress();
    final Pipe pipe = Pipe.open();
    selector = parts.loop.register(pipe.source(), 0, null).selector();
    opened.addAll(List.of(parts, port, server, pipe.source(), pipe.sink()));
  }

  @AfterEach
  void close() throws Exception {
    for (final AutoCloseable one : opened) {
      one.close();
    }
  }

  private void reopen(Duration answer, Duration idle) throws Exception {
    close();
    open(answer, idle);
  }

  private void serve() {
    parts.start();
    parts.onThread(
        () -> {
          parts.connections.serve(port);
          return null;
        });
  }

  private TcpPeer connect() throws IOException {
    final TcpPeer client = new TcpPeer((InetSocketAddress) port.getLocalAddress());
    opened.add(client);
    return client;
  }

  private TcpPeer accept() throws IOException {
    final TcpPeer peer = new TcpPeer(server.accept());
    opened.add(peer);
    return peer;
  }

  private static void ask(TcpPeer client) throws IOException {
    client.send(question(WWW));
  }

  private static void answer(TcpPeer peer) throws IOException {
    peer.send(ScriptedServer.answer(peer.receive(), ""));
  }

  /** Returns the key of the only socket of a kind; null where there is none. */
  private SelectionKey key(Class<?> kind) {
    return parts.onThread(
        () ->
            selector.keys().stream()
                .filter(key -> kind.isInstance(key.attachment()))
                .findAny()
                .orElse(null));
  }

  private static void reset(TcpPeer client) throws IOException {
    client.socket.setOption(StandardSocketOptions.SO_LINGER, 0);
    client.close();
  }

  private <T> T socket(Class<T> kind) {
    return kind.cast(key(kind).attachment());
  }

  private void awaitInterest(int operations, Class<?> kind) throws InterruptedException {
    await(
        () -> key(kind).interestOps() == operations,
        () -> kind + " waits for " + key(kind).interestOps());
  }

  private void awaitCount(DnsCounter counter, int count) throws InterruptedException {
    await(
        () -> parts.exchanges.counted(counter) == count,
        () -> counter + " is " + parts.exchanges.counted(counter));
  }

  /**
   * Sends zeros to the peer of a socket until no buffer takes more, also after the acknowledgements
   * that the kernel delays; returns how many.
   */
  private long fill(Class<?> kind) throws InterruptedException {
    final SocketChannel channel = (SocketChannel) key(kind).channel();
    final long[] sent = {0, 0};
    await(
        () -> {
          final long before = sent[0];
          parts.onThread(() -> sent[0] += channel.write(ByteBuffer.allocate(8 << 20)));
          sent[1] = sent[0] == before ? sent[1] + 1 : 0;
          return sent[1] == 20;
        });
    return sent[0];
  }

  @Test
  void shouldWaitForMessagesAloneWhileNothingIsToBeSent() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    answer(peer);
    client.receive();
    awaitInterest(READ, TcpClient.class);
    awaitInterest(READ, TcpUpstream.class);
    final SocketChannel channel = (SocketChannel) key(TcpClient.class).channel();
    assertTrue(channel.getOption(StandardSocketOptions.TCP_NODELAY), "answers do not wait");
  }

  @Test
  void shouldReadNoQuestionBehindOneThatHasToWait() throws Exception {
    serve();
    final TcpPeer client = connect();
    for (int i = 0; i < 129; i++) {
      ask(client);
    }
    final TcpPeer peer = accept();
    awaitInterest(0, TcpClient.class);
    assertEquals(128, parts.exchanges.counted(DnsCounter.RECEIVED));
    answer(peer);
    awaitInterest(READ, TcpClient.class);
    assertEquals(129, parts.exchanges.counted(DnsCounter.RECEIVED));
  }

  @Test
  void shouldAskWhatHasWaitedForQuestionsThatHaveNoAnswer() throws Exception {
    reopen(Duration.ZERO, LONG);
    serve();
    final TcpPeer client = connect();
    for (int i = 0; i < 129; i++) {
      ask(client);
    }
    accept();
    awaitInterest(0, TcpClient.class);
    parts.onThread(
        () -> {
          parts.exchanges.expire();
          return null;
        });
    awaitCount(DnsCounter.RECEIVED, 129);
    assertEquals(128, parts.exchanges.counted(DnsCounter.TIMED_OUT));
  }

  /** Up to 256 KiB wait for a client, then it has no more questions and answers. */
  @Test
  void shouldLetAClientWaitThatDoesNotReadItsAnswers() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    answer(peer);
    client.receive();
    final long zeros = fill(TcpClient.class);
    final TcpClient socket = socket(TcpClient.class);
    for (int i = 0; i < 4; i++) {
      parts.onThread(
          () -> {
            socket.reply(new byte[QUARTER - 2]);
            return null;
          });
    }
    awaitInterest(READ | WRITE, TcpClient.class);
    awaitInterest(READ, TcpUpstream.class);
    ask(client);
    answer(peer);
    awaitCount(DnsCounter.FORWARDED, 2);
    awaitInterest(0, TcpUpstream.class);
    ask(client);
    awaitInterest(WRITE, TcpClient.class);
    assertEquals(2, parts.exchanges.counted(DnsCounter.RECEIVED));
    client.in.skipNBytes(zeros + 4 * QUARTER);
    assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
    answer(peer);
    assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
    awaitInterest(READ, TcpClient.class);
    awaitInterest(READ, TcpUpstream.class);
  }

  /** Each question takes a quarter of the bytes that may wait. */
  private void askAtLength(TcpPeer client, int questions) throws IOException {
    for (int i = 0; i < questions; i++) {
      client.send(Arrays.copyOf(question(WWW), QUARTER - 2));
    }
  }

  /** Up to 256 KiB wait for a server, and the question that goes beyond that. */
  @Test
  void shouldLetAClientWaitWhoseServerDoesNotReadItsQuestions() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    answer(peer);
    client.receive();
    final long zeros = fill(TcpUpstream.class);
    askAtLength(client, 6);
    awaitCount(DnsCounter.RECEIVED, 6);
    awaitInterest(0, TcpClient.class);
    awaitInterest(READ | WRITE, TcpUpstream.class);
    assertEquals(6, parts.exchanges.counted(DnsCounter.RECEIVED));
    peer.in.skipNBytes(zeros);
    final List<byte[]> asked = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      asked.add(peer.receive()); // the last is asked once the others have gone out
    }
    for (final byte[] one : asked) {
      peer.send(ScriptedServer.answer(one, ""));
      client.receive();
    }
    awaitInterest(READ, TcpUpstream.class);
  }

  @Test
  void shouldAskAgainWhereAServerThatDoesNotReadCloses() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    fill(TcpUpstream.class);
    askAtLength(client, 6);
    awaitInterest(0, TcpClient.class);
    reset(peer);
    for (int i = 0; i < 6; i++) {
      assertEquals(Rcode.SERVFAIL, DnsQuestion.codeOf(client.receive()));
    }
    answer(accept());
    assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
  }

  @Test
  void shouldCloseTheConnectionOfAClientThatTakesNoAnswer() throws Exception {
    parts.rig.redirect.serverEndpoint = 9;
    serve();
    final TcpPeer client = connect();
    for (int i = 0; i < 129; i++) {
      ask(client);
    }
    final TcpPeer peer = accept();
    awaitInterest(0, TcpClient.class);
    reset(client);
    answer(peer);
    await(() -> parts.rig.redirect.left.equals(parts.rig.redirect.joined));
    assertEquals(0, parts.onThread(() -> parts.uses.all.connections));
  }

  @Test
  void shouldSendWhatIsQueuedToAClientThatHasEndedItsHalf() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    final long zeros = fill(TcpClient.class);
    answer(peer);
    awaitInterest(READ | WRITE, TcpClient.class);
    client.socket.shutdownOutput();
    awaitInterest(WRITE, TcpClient.class);
    client.in.skipNBytes(zeros);
    assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
    assertTrue(client.isEnded());
    assertTrue(peer.isEnded());
  }

  @Test
  void shouldCloseAConnectionThatIsIdleAndNoOther() throws Exception {
    reopen(LONG, Duration.ZERO);
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    step();
    assertEquals(1, parts.onThread(() -> parts.uses.all.connections));
    answer(peer);
    client.receive();
    final TcpClient socket = socket(TcpClient.class);
    final int left =
        parts.onThread(
            () -> {
              socket.outstanding(1);
              socket.outstanding(-1); // used in this very cycle
              parts.connections.step();
              return parts.uses.all.connections;
            });
    assertEquals(0, left);
    assertTrue(client.isEnded());
    assertTrue(peer.isEnded());
  }

  private void step() {
    parts.onThread(
        () -> {
          parts.connections.step();
          return null;
        });
  }

  @Test
  void shouldKeepAConnectionThatIsNotIdleForLong() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    answer(peer);
    client.receive();
    step();
    ask(client);
    answer(peer);
    client.receive();
  }

  @Test
  void shouldAccept16ConnectionsAtATime() throws Exception {
    for (int i = 0; i < 40; i++) {
      connect();
    }
    parts.start();
    final int accepted =
        parts.onThread(
            () -> {
              parts.connections.serve(port);
              final SelectionKey key = port.keyFor(selector);
              ((ProxyLoop.Socket) key.attachment()).onReady(key);
              return parts.uses.all.connections;
            });
    assertEquals(16, accepted);
    await(() -> parts.onThread(() -> parts.uses.all.connections) == 40);
  }

  /** A key that keeps what it is to wait for. */
  private static final class FakeKey extends SelectionKey {
    private final List<Integer> interests = new ArrayList<>();

    @Override
    public SelectionKey interestOps(int operations) {
      interests.add(operations);
      return this;
    }

    @Override
    public SelectableChannel channel() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Selector selector() {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isValid() {
      return true;
    }

    @Override
    public void cancel() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int interestOps() {
      return interests.getLast();
    }

    @Override
    public int readyOps() {
      return SelectionKey.OP_ACCEPT;
    }
  }

  @Test
  void shouldAcceptNothingUntilItsNextStepWhereAcceptingFails() throws Exception {
    parts.connections.serve(port);
    final ProxyLoop.Socket socket = (ProxyLoop.Socket) port.keyFor(selector).attachment();
    port.close(); // accepting fails, as it does where no descriptor is free
    final FakeKey key = new FakeKey();
    socket.onReady(key);
    assertEquals(List.of(0), key.interests);
    assertEquals(1, parts.exchanges.counted(DnsCounter.ERROR));
    parts.connections.step();
    parts.connections.step();
    assertEquals(List.of(0, SelectionKey.OP_ACCEPT), key.interests);
    socket.onFailed();
    assertEquals(2, parts.exchanges.counted(DnsCounter.ERROR));
  }

  @Test
  void shouldCloseAConnectionWhoseFlowCannotBeFound() throws Exception {
    final InetSocketAddress known = parts.rig.redirect.server;
    parts.rig.redirect.server = null; // the look-up fails
    serve();
    assertTrue(connect().isEnded());
    awaitCount(DnsCounter.ERROR, 1);
    parts.rig.redirect.server = known;
    ask(connect());
    answer(accept());
    awaitCount(DnsCounter.FORWARDED, 1);
  }

  @Test
  void shouldCloseTheSocketThatCannotJoinItsFlow() throws Exception {
    parts.rig.redirect.serverEndpoint = 9;
    parts.rig.redirect.join = null; // the call fails
    serve();
    final TcpPeer client = connect();
    ask(client);
    assertEquals(Rcode.SERVFAIL, DnsQuestion.codeOf(client.receive()));
    assertEquals(1, parts.rig.redirect.joined.size());
    assertEquals(parts.rig.redirect.joined, parts.rig.redirect.left);
  }

  @Test
  void shouldFailTheQuestionsOfASocketThatCannotConnect() throws Exception {
    parts.rig.redirect.serverEndpoint = 9;
    parts.rig.redirect.join = new CompletableFuture<>();
    parts.rig.redirect.server = new InetSocketAddress("192.0.2.1", 53); // not from the loopback
    serve();
    final TcpPeer client = connect();
    ask(client);
    awaitCount(DnsCounter.RECEIVED, 1);
    parts.rig.redirect.join.complete(null);
    assertEquals(Rcode.SERVFAIL, DnsQuestion.codeOf(client.receive()));
    assertEquals(parts.rig.redirect.joined, parts.rig.redirect.left);
  }

  /** The address may have become another workload's while the flow was joined. */
  @Test
  void shouldNotConnectToAnEndpointThatItMayNotConnectToOnceItsFlowIsJoined() throws Exception {
    parts.rig.redirect.serverEndpoint = 9;
    parts.rig.redirect.join = new CompletableFuture<>();
    serve();
    final TcpPeer client = connect();
    ask(client);
    awaitCount(DnsCounter.RECEIVED, 1);
    parts.rig.redirect.refusal = "127.0.0.1 is the address of another endpoint";
    parts.rig.redirect.join.complete(null);
    assertEquals(Rcode.SERVFAIL, DnsQuestion.codeOf(client.receive()));
    assertEquals(parts.rig.redirect.joined, parts.rig.redirect.left);
  }

  @Test
  void shouldNotConnectWhereItsClientHasGone() throws Exception {
    parts.rig.redirect.serverEndpoint = 9;
    parts.rig.redirect.join = new CompletableFuture<>();
    serve();
    final TcpPeer client = connect();
    ask(client);
    awaitCount(DnsCounter.RECEIVED, 1);
    reset(client);
    await(() -> parts.rig.redirect.left.size() == 1);
    parts.rig.redirect.join.complete(null);
    awaitCount(DnsCounter.ERROR, 1);
    assertEquals(1, parts.rig.redirect.left.size());
    assertEquals(List.of(), parts.rig.events.stream().filter(e -> e.responseCode() == 0).toList());
  }

  @Test
  void shouldTakeNoQuestionAfterItIsClosed() throws Exception {
    serve();
    ask(connect());
    accept();
    awaitInterest(READ, TcpUpstream.class);
    final TcpUpstream upstream = socket(TcpUpstream.class);
    assertFalse(upstream.isClosed());
    parts.onThread(
        () -> {
          upstream.close();
          final var flow = parts.flow(6, 1_000);
          final var client = new ProxyParts.Asker(flow, upstream);
          parts.exchanges.onMessage(client, question(WWW));
          assertEquals(List.of(Rcode.SERVFAIL), client.codes());
          return null;
        });
    assertTrue(upstream.isClosed());
  }

  /** Neither side gets what the other had sent before the deny. */
  @ParameterizedTest
  @ValueSource(classes = {TcpClient.class, TcpUpstream.class})
  void shouldDiscardWhatWaitsForTheEndsOfAConnectionThatIsDenied(Class<?> kind) throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    final TcpPeer peer = accept();
    answer(peer);
    client.receive();
    fill(kind);
    parts.rig.admits = false;
    parts.onThread(
        () -> {
          parts.connections.enforce();
          return null;
        });
    final TcpPeer filled = kind == TcpClient.class ? client : peer;
    assertThrows(SocketException.class, filled.in::readAllBytes);
    awaitCount(DnsCounter.DENIED, 1);
  }

  /** A connection outlives the identities of its ends. */
  @Test
  void shouldJudgeEachQuestionByTheIdentitiesOfItsTime() throws Exception {
    serve();
    final TcpPeer client = connect();
    ask(client);
    answer(accept());
    assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
    parts.rig.redirect.serverIdentity = 5;
    parts.rig.deniedServer = 5;
    ask(client);
    assertEquals(Rcode.REFUSED, DnsQuestion.codeOf(client.receive()));
  }
}
