package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import agent.bindings.Errno;
import agent.bindings.bpf.KernelFunctions;
import agent.bindings.process.ProcessSocket;
import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.maps.layout.SocketCounter;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.Workload;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Sockets whose backend goes, on the real kernel: of processes of the node and of workloads. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class LeftSocketsKernelTest {
  private static final String OTHER_SERVICE = "10.96.0.9";
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int WITHIN_MS = 10_000;
  private static final int ANSWER_MS = 500;
  private static final boolean SOCKETS_END = KernelFunctions.has("bpf_sock_destroy");
  private static final Pattern SOCKET = Pattern.compile("ino:(\\d+) sk:([0-9a-f]+)");

  /** Where the client is, and the families of its socket and of its peer. */
  enum Client {
    NODE_IPV4(true, StandardProtocolFamily.INET, "10.96.0.1"),
    NODE_IPV6(true, StandardProtocolFamily.INET6, "fd96::1"),
    NODE_MAPPED(true, StandardProtocolFamily.INET6, "10.96.0.1"),
    WORKLOAD_IPV4(false, StandardProtocolFamily.INET, "10.96.0.1"),
    WORKLOAD_IPV6(false, StandardProtocolFamily.INET6, "fd96::1");

    private final boolean isOnNode;
    private final ProtocolFamily family;
    private final String service;

    Client(boolean isOnNode, ProtocolFamily family, String service) {
      this.isOnNode = isOnNode;
      this.family = family;
      this.service = service;
    }

    InetSocketAddress frontend() throws IOException {
      return new InetSocketAddress(InetAddress.ofLiteral(service), PORT);
    }

    String of(Workload workload) {
      return service.indexOf(':') < 0 ? workload.ipv4() : workload.ipv6();
    }
  }

  /** How a backend goes. */
  enum Departure {
    REMOVED,
    QUARANTINED,
    MAINTENANCE,
    WITH_ITS_SERVICE
  }

  private final List<AutoCloseable> opened = new ArrayList<>();
  private ManagerTestNode node;
  private Workload client;
  private List<Workload> servers;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    client = node.workload(11);
    servers = List.of(node.workload(12), node.workload(13));
    group = TestControlGroup.enter();
    launch();
  }

  private void launch(ServiceEntries... services) {
    manager = node.launch(node.context().cgroupRoot(group.path()));
    ManagerTestNode.attachAll(manager, List.of(client, servers.get(0), servers.get(1)));
    await(manager.services().restore(List.of(services), Set.of()));
  }

  @AfterEach
  void remove() throws Exception {
    for (final AutoCloseable one : opened.reversed()) {
      one.close();
    }
    await(manager.services().restore(List.of(), Set.of()));
    manager.close();
    group.close();
    node.close();
  }

  private static void assumeThatSocketsEnd() {
    assumeTrue(SOCKETS_END, "the kernel has no bpf_sock_destroy (Linux 6.5)");
  }

  private NetworkNamespace place(Client from) {
    return from.isOnNode ? node.namespace() : client.namespace();
  }

  /** A backend of the first or the second workload. */
  private Backend backend(Client from, int n, BackendState state, int weight) {
    return new Backend(IpAddress.parse(from.of(servers.get(n))), SERVED, state, weight);
  }

  private static ServiceEntries service(Client from, Backend... backends) {
    return service(1, from, backends);
  }

  private static ServiceEntries service(int id, Client from, Backend... backends) {
    return new ServiceEntries(
        id, IpAddress.parse(from.service), PORT, List.of(6, 17), 0, List.of(backends));
  }

  private void put(Client from, Backend... backends) {
    await(manager.services().put(service(from, backends)));
  }

  /** New connections go to one of the two backends, and both keep theirs. */
  private void choose(Client from, int n) {
    put(
        from,
        backend(from, 0, BackendState.ACTIVE, n == 0 ? 1 : 0),
        backend(from, 1, BackendState.ACTIVE, n == 1 ? 1 : 0));
  }

  private void depart(Client from, Departure departure) {
    final Backend stays = backend(from, 1, BackendState.ACTIVE, 1);
    switch (departure) {
      case REMOVED -> put(from, stays);
      case QUARANTINED -> put(from, backend(from, 0, BackendState.QUARANTINED, 1), stays);
      case MAINTENANCE -> put(from, backend(from, 0, BackendState.MAINTENANCE, 1), stays);
      case WITH_ITS_SERVICE -> await(manager.services().remove(1));
    }
  }

  private void serveTcp() {
    for (final Workload server : servers) {
      opened.add(TcpEchoServer.start(server.namespace(), SERVED));
    }
  }

  private TcpConnection connect(Client from, String address, int port) {
    final TcpConnection connection = TcpConnection.open(place(from), address, port);
    opened.add(connection);
    assertTrue(connection.exchangesMore(2, WITHIN_MS));
    return connection;
  }

  private TcpConnection connect(Client from) {
    return connect(from, from.service, PORT);
  }

  private static void within(BooleanSupplier condition, String what) throws InterruptedException {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(WITHIN_MS);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what);
      Thread.sleep(5);
    }
  }

  /** A connection whose process waits for input; completes with the exception that ends it. */
  private CompletableFuture<IOException> waiting(Client from) throws Exception {
    final SocketChannel channel =
        place(from)
            .run(
                () -> {
                  final SocketChannel created = SocketChannel.open(from.family);
                  created.connect(from.frontend());
                  return created;
                });
    opened.add(channel);
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            throw new AssertionError("read " + channel.read(ByteBuffer.allocate(1)));
          } catch (IOException ended) {
            return ended;
          }
        },
        work -> Thread.ofPlatform().daemon().start(work));
  }

  @ParameterizedTest
  @EnumSource
  void shouldEndTheConnectionsToABackendThatGoes(Client from) throws Exception {
    assumeThatSocketsEnd();
    serveTcp();
    choose(from, 0);
    final TcpConnection lost = connect(from);
    final CompletableFuture<IOException> waiting = waiting(from);
    choose(from, 1);
    final TcpConnection other = connect(from);
    final TcpConnection direct = connect(from, from.of(servers.get(0)), SERVED);
    put(
        from,
        backend(from, 0, BackendState.TERMINATING, 1),
        backend(from, 1, BackendState.ACTIVE, 1));
    assertEquals(null, sweepOf(lost), "a terminating one keeps its own");
    depart(from, Departure.REMOVED);
    within(() -> lost.failure() != null, "the connection ends");
    assertNotNull(waiting.get(WITHIN_MS, TimeUnit.MILLISECONDS));
    assertTrue(other.exchangesMore(20, WITHIN_MS), "one to another backend stays");
    assertTrue(direct.exchangesMore(20, WITHIN_MS), "one to the address itself stays");
  }

  /** Waits for some searches, and returns the failure of the connection. */
  private static IOException sweepOf(TcpConnection connection) {
    assertTrue(connection.exchangesMore(400, WITHIN_MS));
    return connection.failure();
  }

  @ParameterizedTest
  @EnumSource
  void shouldEndTheConnectionsHoweverABackendGoes(Departure departure) throws Exception {
    assumeThatSocketsEnd();
    final Client from = Client.WORKLOAD_IPV4;
    serveTcp();
    choose(from, 0);
    final TcpConnection lost = connect(from);
    final TcpConnection direct = connect(from, from.of(servers.get(0)), SERVED);
    depart(from, departure);
    within(() -> lost.failure() != null, "the connection ends");
    assertTrue(direct.exchangesMore(20, WITHIN_MS), "one to the address itself stays");
  }

  @Test
  void shouldKeepConnectionsWhereAnotherServiceTakesOverFrontendAndBackend() {
    final Client from = Client.NODE_IPV4;
    serveTcp();
    choose(from, 0);
    final TcpConnection connection = connect(from);
    await(manager.services().put(service(2, from, backend(from, 0, BackendState.ACTIVE, 1))));
    await(manager.services().remove(1));
    assertEquals(null, sweepOf(connection));
    await(manager.services().remove(2));
  }

  @Test
  void shouldKeepConnectionsWhereTheirServiceGetsAnotherFrontend() {
    final Client from = Client.NODE_IPV4;
    serveTcp();
    choose(from, 0);
    final TcpConnection connection = connect(from);
    final List<Backend> both =
        List.of(backend(from, 0, BackendState.ACTIVE, 1), backend(from, 1, BackendState.ACTIVE, 1));
    final IpAddress other = IpAddress.parse("10.96.0.2");
    await(manager.services().put(new ServiceEntries(1, other, PORT, List.of(6, 17), 0, both)));
    await( // which is searched for
        manager
            .services()
            .put(new ServiceEntries(1, other, PORT, List.of(6, 17), 0, both.subList(0, 1))));
    assertEquals(null, sweepOf(connection));
    assertTrue(connection.exchangesMore(2, WITHIN_MS), "no other search has ended it");
  }

  @Test
  void shouldEndTheConnectionsToABackendThatWentWithoutTheAgent() throws Exception {
    assumeThatSocketsEnd();
    final Client from = Client.WORKLOAD_IPV4;
    serveTcp();
    choose(from, 0);
    final TcpConnection lost = connect(from);
    choose(from, 1);
    final TcpConnection other = connect(from);
    manager.close();
    launch(service(from, backend(from, 1, BackendState.ACTIVE, 1)));
    within(() -> lost.failure() != null, "the connection ends");
    assertTrue(other.exchangesMore(20, WITHIN_MS));
  }

  private List<UdpEchoServer> serveUdp(Client from) {
    final List<UdpEchoServer> started = new ArrayList<>();
    for (final Workload server : servers) {
      started.add(UdpEchoServer.start(server.namespace(), from.of(server), SERVED));
    }
    opened.addAll(started);
    return started;
  }

  private DatagramChannel connected(Client from, InetSocketAddress address) throws Exception {
    final DatagramChannel channel =
        place(from).run(() -> DatagramChannel.open(from.family).connect(address));
    opened.add(channel);
    return channel;
  }

  /** Sends datagrams until one is answered; none may fail. */
  private static void exchange(DatagramChannel channel) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(WITHIN_MS);
    channel.configureBlocking(false);
    final ByteBuffer answer = ByteBuffer.allocate(8);
    while (System.nanoTime() < deadline) {
      channel.write(ByteBuffer.wrap(new byte[] {1}));
      final long answered = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ANSWER_MS);
      while (System.nanoTime() < answered) {
        if (channel.read(answer.clear()) > 0) {
          return;
        }
        Thread.sleep(1);
      }
    }
    throw new AssertionError("no datagram is answered");
  }

  @ParameterizedTest
  @EnumSource
  void shouldConnectASocketOfDatagramsToAnotherBackend(Client from) throws Exception {
    final List<UdpEchoServer> udp = serveUdp(from);
    choose(from, 0);
    final DatagramChannel channel = connected(from, from.frontend());
    final DatagramChannel direct =
        connected(
            from, new InetSocketAddress(InetAddress.ofLiteral(from.of(servers.get(0))), SERVED));
    exchange(channel);
    put(
        from,
        backend(from, 0, BackendState.TERMINATING, 1),
        backend(from, 1, BackendState.ACTIVE, 1));
    Thread.sleep(ANSWER_MS);
    exchange(channel);
    assertEquals(0, udp.get(1).datagrams(), "a terminating one keeps its own");
    depart(from, Departure.REMOVED);
    opened.remove(udp.get(0));
    final long before = udp.get(0).datagrams();
    while (udp.get(1).datagrams() == 0) {
      exchange(channel); // fails in time where no server answers
      assertTrue(udp.get(0).datagrams() - before < 10_000, "the socket does not move");
    }
    exchange(direct);
    final long old = udp.get(0).datagrams();
    for (int i = 0; i < 20; i++) {
      exchange(channel);
    }
    assertEquals(old, udp.get(0).datagrams());
    udp.get(0).close();
  }

  private static CompletableFuture<Integer> reading(DatagramChannel channel) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            channel.configureBlocking(true);
            return channel.read(ByteBuffer.allocate(8));
          } catch (IOException ended) {
            throw new IllegalStateException(ended);
          }
        },
        work -> Thread.ofPlatform().daemon().start(work));
  }

  @Test
  void shouldEndASocketOfDatagramsWhereTheServiceHasNoOtherBackend() throws Exception {
    assumeThatSocketsEnd();
    final Client from = Client.WORKLOAD_IPV4;
    serveUdp(from);
    choose(from, 0);
    final DatagramChannel channel = connected(from, from.frontend());
    exchange(channel);
    final CompletableFuture<Integer> read = reading(channel);
    put(from, backend(from, 0, BackendState.MAINTENANCE, 1));
    final ExecutionException ended =
        assertThrows(ExecutionException.class, () -> read.get(WITHIN_MS, TimeUnit.MILLISECONDS));
    assertTrue(ended.getCause().getCause() instanceof IOException, ended.toString());
  }

  /** Opens a socket of this process as if it were of another one, for calls that Java refuses. */
  private ProcessSocket second(Client from, DatagramChannel channel, long otherCookie)
      throws Exception {
    final int port = ((InetSocketAddress) channel.getLocalAddress()).getPort();
    final String line =
        place(from).exec("ss", "-H", "-u", "-a", "-n", "-e", "sport = :" + port).strip();
    final Matcher socket = SOCKET.matcher(line);
    assertTrue(socket.find(), line);
    final String target = "socket:[" + socket.group(1) + "]";
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      final Path descriptor =
          descriptors.filter(link -> target.equals(target(link))).findFirst().orElseThrow();
      final ProcessSocket opened =
          ProcessSocket.open(
                  (int) ProcessHandle.current().pid(),
                  Integer.parseInt(descriptor.getFileName().toString()),
                  Long.parseLong(socket.group(2), 16) + otherCookie)
              .orElse(null);
      if (opened != null) {
        this.opened.add(opened);
      }
      return opened;
    }
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException closed) {
      return "";
    }
  }

  private DatagramChannel bound(Client from) throws Exception {
    final DatagramChannel channel =
        place(from).run(() -> DatagramChannel.open(from.family).bind(null));
    opened.add(channel);
    return channel;
  }

  private static int connect(ProcessSocket socket, Client from, String address, int port)
      throws IOException {
    final IpAddress parsed = IpAddress.parse(address);
    return socket.connect(
        from.family == StandardProtocolFamily.INET6, parsed.high(), parsed.low(), port);
  }

  private static boolean isConnected(ProcessSocket socket, Client from, String address, int port) {
    final IpAddress parsed = IpAddress.parse(address);
    return socket.isConnectedTo(
        from.family == StandardProtocolFamily.INET6, parsed.high(), parsed.low(), port);
  }

  private long connections() {
    return manager.services().counters().get(SocketCounter.CONNECTED);
  }

  @Test
  void shouldOpenNoOtherSocketThanTheOneThatWasFound() throws Exception {
    final Client from = Client.WORKLOAD_IPV4;
    assertNotNull(second(from, bound(from), 0));
    assertEquals(null, second(from, bound(from), 1));
    assertTrue(ProcessSocket.open((int) ProcessHandle.current().pid(), 1 << 20, 1).isEmpty());
    final Process ended = new ProcessBuilder("true").start();
    ended.waitFor();
    assertTrue(ProcessSocket.open((int) ended.pid(), 0, 1).isEmpty());
  }

  /** A socket can send to a service beside the peer that its process has connected it to. */
  @ParameterizedTest
  @EnumSource(names = {"WORKLOAD_IPV4", "WORKLOAD_IPV6"})
  void shouldLeaveASocketAloneThatItsProcessConnectedToTheBackend(Client from) throws Exception {
    serveUdp(from);
    choose(from, 0);
    final String server = from.of(servers.get(0));
    final DatagramChannel channel = bound(from);
    final ProcessSocket socket = second(from, channel, 0);
    assertEquals(0, connect(socket, from, server, SERVED));
    channel.send(ByteBuffer.wrap(new byte[] {1}), from.frontend());
    final DatagramChannel lost = connected(from, from.frontend());
    final long before = connections();
    depart(from, Departure.REMOVED);
    within(() -> connections() > before, "the other socket moves");
    depart(from, Departure.WITH_ITS_SERVICE);
    if (SOCKETS_END) {
      final CompletableFuture<Integer> read = reading(lost);
      assertThrows(ExecutionException.class, () -> read.get(WITHIN_MS, TimeUnit.MILLISECONDS));
    } else {
      awaitFailure(lost);
    }
    assertTrue(isConnected(socket, from, server, SERVED), "as its process wants it");
    channel.send(ByteBuffer.wrap(new byte[] {1}), new InetSocketAddress(server, SERVED));
  }

  /** Datagrams with a destination leave the connection as it is, and the agent moves it once. */
  @ParameterizedTest
  @EnumSource(names = {"WORKLOAD_IPV4", "WORKLOAD_IPV6"})
  void shouldKnowTheConnectionOfASocketThatSendsToServices(Client from) throws Exception {
    serveUdp(from);
    choose(from, 0);
    final DatagramChannel channel = bound(from);
    final ProcessSocket socket = second(from, channel, 0);
    assertEquals(0, connect(socket, from, from.service, PORT));
    for (int id = 2; id < 7; id++) {
      final String other = from.service.substring(0, from.service.length() - 1) + id;
      await(
          manager
              .services()
              .put(
                  new ServiceEntries(
                      id,
                      IpAddress.parse(other),
                      PORT,
                      List.of(17),
                      0,
                      id == 6 ? List.of() : List.of(backend(from, 1, BackendState.ACTIVE, 1)))));
      if (id == 6) {
        assertEquals(-Errno.ECONNREFUSED, connect(socket, from, other, PORT));
      } else {
        channel.send(
            ByteBuffer.wrap(new byte[] {1}),
            new InetSocketAddress(InetAddress.ofLiteral(other), PORT));
        channel.send(ByteBuffer.wrap(new byte[] {1}), from.frontend());
      }
      assertTrue(isConnected(socket, from, from.service, PORT), "service " + id);
    }
    final long before = connections();
    depart(from, Departure.REMOVED);
    channel.send(ByteBuffer.wrap(new byte[] {1}), from.frontend());
    within(() -> connections() > before, "the socket moves");
    channel.configureBlocking(false);
    within(() -> isEchoed(channel, from), "an answer of the other backend");
    assertEquals(before + 1, connections());
    for (int id = 2; id < 7; id++) {
      await(manager.services().remove(id));
    }
  }

  /** Returns whether an answer to one of these datagrams has come, among those to others. */
  private static boolean isEchoed(DatagramChannel channel, Client to) {
    try {
      channel.send(ByteBuffer.wrap(new byte[] {2}), to.frontend());
      final ByteBuffer answer = ByteBuffer.allocate(8);
      while (channel.receive(answer.clear()) != null) {
        if (answer.get(0) == 2) {
          return true;
        }
      }
      return false;
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }

  @Test
  void shouldDissolveTheConnectionOfASocketThatHasNoWayToTheOtherBackend() throws Exception {
    final Client from = Client.WORKLOAD_IPV4;
    serveUdp(from);
    choose(from, 0);
    final DatagramChannel channel = connected(from, from.frontend());
    exchange(channel);
    client.namespace().ip("route add unreachable " + from.of(servers.get(1)));
    depart(from, Departure.REMOVED);
    awaitFailure(channel);
  }

  /** How a service has no backend left: the hooks at sockets go with the last service. */
  enum End {
    NO_BACKEND,
    ONE_OF_TWO_SERVICES,
    LAST_SERVICE,
    WITHOUT_THE_AGENT
  }

  private static Stream<Arguments> ends() {
    return Stream.of(Client.values())
        .flatMap(client -> Stream.of(End.values()).map(end -> Arguments.of(client, end)));
  }

  private void end(Client from, End end) {
    switch (end) {
      case NO_BACKEND -> put(from, backend(from, 0, BackendState.MAINTENANCE, 1));
      case ONE_OF_TWO_SERVICES, LAST_SERVICE -> await(manager.services().remove(1));
      case WITHOUT_THE_AGENT -> {
        manager.close();
        launch();
      }
    }
  }

  /** Also where the kernel does not end sockets. */
  @ParameterizedTest
  @MethodSource("ends")
  void shouldLeaveNoSocketOfDatagramsConnectedToABackendThatNoneReplaces(Client from, End end)
      throws Exception {
    serveUdp(from);
    if (end == End.ONE_OF_TWO_SERVICES) {
      await(
          manager
              .services()
              .put(
                  new ServiceEntries(
                      2,
                      IpAddress.parse(OTHER_SERVICE),
                      PORT,
                      List.of(17),
                      0,
                      List.of(backend(Client.NODE_IPV4, 1, BackendState.ACTIVE, 1)))));
    }
    choose(from, 0);
    final DatagramChannel channel = connected(from, from.frontend());
    final DatagramChannel direct =
        connected(
            from, new InetSocketAddress(InetAddress.ofLiteral(from.of(servers.get(0))), SERVED));
    exchange(channel);
    end(from, end);
    awaitFailure(channel);
    exchange(direct);
  }

  /** Waits until the process of the socket gets an error. */
  private static void awaitFailure(DatagramChannel channel) throws InterruptedException {
    within(
        () -> {
          try {
            channel.write(ByteBuffer.wrap(new byte[] {1}));
            return false;
          } catch (IOException ended) {
            return true;
          }
        },
        "its process gets an error");
  }

  @Test
  void shouldTellWhatTheKernelCan() throws Exception {
    final Client from = Client.NODE_IPV4;
    put(from, backend(from, 0, BackendState.ACTIVE, 1));
    final String able =
        "sockets of a removed backend: UDP sockets are moved to another backend, TCP connections "
            + (SOCKETS_END ? "are closed" : "stay until the backend closes them: ");
    within(
        () ->
            manager.health().read().stream()
                .filter(module -> module.moduleId().equals("service-sockets"))
                .map(ModuleHealth::message)
                .anyMatch(message -> message.startsWith(able)),
        "health");
    assertTrue(
        manager.health().read().stream().allMatch(module -> module.level() == Level.OK),
        () -> manager.health().read().toString());
  }
}
