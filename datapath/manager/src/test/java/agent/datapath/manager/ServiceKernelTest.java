package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.SocketHook;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.ServiceProxy.Hooks;
import agent.datapath.spec.ServiceProxy.KeptFrontend;
import agent.maps.layout.BackendState;
import agent.maps.layout.SocketCounter;
import agent.testkit.KernelTest;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sockets that connect or send to a service, on the real kernel. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class ServiceKernelTest {
  private static final int ID = 7;
  private static final int PORT = SocketClient.PORT;
  private static final int UNSERVED = 9999;
  private static final int FIRST_BACKEND = 8001;

  private final List<AutoCloseable> servers = new ArrayList<>();
  private final Map<Integer, TcpEchoServer> tcp = new TreeMap<>();
  private ManagerTestNode node;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    node.namespace().ip("link set lo up");
    group = TestControlGroup.enter();
    launch();
    await(manager.services().restore(List.of(), Set.of()));
  }

  private void launch() {
    manager = node.launch(node.context().cgroupRoot(group.path()));
  }

  @AfterEach
  void remove() throws Exception {
    for (final AutoCloseable server : servers) {
      server.close();
    }
    if (manager != null) {
      await(manager.services().restore(List.of(), Set.of()));
      manager.close();
    }
    group.close();
    node.close();
  }

  private ServiceEntries service(SocketClient client, int affinitySec, Backend... backends) {
    return new ServiceEntries(
        ID, IpAddress.parse(client.frontend), PORT, List.of(6, 17), affinitySec, List.of(backends));
  }

  private static Backend backend(SocketClient client, int n, BackendState state, int weight) {
    return new Backend(IpAddress.parse(client.backend), FIRST_BACKEND + n, state, weight);
  }

  private static Backend active(SocketClient client, int n) {
    return backend(client, n, BackendState.ACTIVE, 1);
  }

  private void put(ServiceEntries service) {
    await(manager.services().put(service));
  }

  private void serveTcp(int count) {
    for (int n = 0; n < count; n++) {
      final TcpEchoServer server = TcpEchoServer.start(node.namespace(), FIRST_BACKEND + n);
      servers.add(server);
      tcp.put(n, server);
    }
  }

  private void connect(SocketClient client) throws Exception {
    node.namespace()
        .run(
            () -> {
              try (SocketChannel channel = SocketChannel.open(client.family)) {
                channel.connect(client.service());
                channel.write(ByteBuffer.wrap(new byte[] {1}));
                assertEquals(1, channel.read(ByteBuffer.allocate(8)));
              }
              return null;
            });
  }

  /** Connects, and returns the number of the backend that has got the connection. */
  private int served(SocketClient client) throws Exception {
    final Map<Integer, Long> before = new TreeMap<>();
    tcp.forEach((n, server) -> before.put(n, server.connections()));
    connect(client);
    return tcp.entrySet().stream()
        .filter(entry -> entry.getValue().connections() > before.get(entry.getKey()))
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  private long counted(SocketCounter counter) {
    return manager.services().counters().get(counter);
  }

  @ParameterizedTest
  @EnumSource
  void shouldConnectToTheBackendsByTheirWeights(SocketClient client) throws Exception {
    serveTcp(4);
    put(
        service(
            client,
            0,
            backend(client, 0, BackendState.ACTIVE, 1),
            backend(client, 1, BackendState.ACTIVE, 3),
            backend(client, 2, BackendState.ACTIVE, 0),
            backend(client, 3, BackendState.TERMINATING, 9)));
    for (int i = 0; i < 400; i++) {
      connect(client);
    }
    final long first = tcp.get(0).connections();
    assertEquals(400 - first, tcp.get(1).connections());
    assertTrue(Math.abs(first - 100) < 45, "a quarter of 400, but for 5 deviations: " + first);
    assertEquals(400, counted(SocketCounter.CONNECTED));
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefuseConnectionsToAServiceWithoutBackends(SocketClient client) throws Exception {
    serveTcp(1);
    put(service(client, 0, backend(client, 0, BackendState.MAINTENANCE, 1)));
    assertThrows(ConnectException.class, () -> connect(client));
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(client.family)) {
                return channel.send(ByteBuffer.allocate(4), client.service()); // hides the error
              }
            });
    assertEquals(2, counted(SocketCounter.REFUSED));
    put(service(client, 0, active(client, 0)));
    assertEquals(0, served(client));
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveOtherAddressesAndPortsAlone(SocketClient client) throws Exception {
    serveTcp(1);
    put(service(client, 0, active(client, 0)));
    node.namespace()
        .run(
            () -> {
              try (SocketChannel channel = SocketChannel.open(client.family)) {
                channel.connect(
                    new InetSocketAddress(InetAddress.ofLiteral(client.backend), FIRST_BACKEND));
              }
              return null;
            });
    assertThrows(
        IOException.class,
        () ->
            node.namespace()
                .run(
                    () -> {
                      try (SocketChannel channel = SocketChannel.open(client.family)) {
                        return channel.connect(
                            new InetSocketAddress(
                                InetAddress.ofLiteral(client.frontend), UNSERVED));
                      }
                    }));
    assertEquals(0, counted(SocketCounter.CONNECTED));
  }

  /**
   * What a proxy connects to was judged for a workload, which may not reach the backends of a
   * service that comes later.
   */
  @ParameterizedTest
  @EnumSource
  void shouldGiveNoBackendToTheProcessOfTheProxies(SocketClient client) throws Exception {
    serveTcp(1);
    serveUdp(client, 1);
    put(service(client, 0, active(client, 0)));
    assertEquals("connect: done\nsend: done\n", ServiceUser.run(node, client, false));
    assertEquals(1, counted(SocketCounter.CONNECTED));
    assertEquals(
        "connect: Network is unreachable\nsend: Network is unreachable\n",
        ServiceUser.run(node, client, true));
    assertEquals(1, counted(SocketCounter.CONNECTED));
  }

  @ParameterizedTest
  @EnumSource(names = {"IPV4", "IPV6"})
  void shouldShowASocketTheServiceAsItsPeer(SocketClient client) throws Exception {
    serveTcp(1);
    put(service(client, 0, active(client, 0)));
    final String shown =
        node.namespace()
            .exec(
                "perl",
                "-MIO::Socket::IP",
                "-e",
                "my $s = IO::Socket::IP->new(PeerHost => $ARGV[0], PeerPort => $ARGV[1],"
                    + " Proto => 'tcp') or die $@; print $s->peerhost, ' ', $s->peerport;",
                client.frontend,
                Integer.toString(PORT));
    assertEquals(client.frontend + " " + PORT, shown.strip());
  }

  /** The datagram servers, of which each answers from its own port. */
  private List<UdpEchoServer> serveUdp(SocketClient client, int count) {
    final List<UdpEchoServer> started = new ArrayList<>();
    for (int n = 0; n < count; n++) {
      started.add(UdpEchoServer.start(node.namespace(), client.backend, FIRST_BACKEND + n));
    }
    servers.addAll(started);
    return started;
  }

  /** Sends a datagram, and returns who answers it. */
  private static InetSocketAddress answered(DatagramChannel channel, SocketClient client)
      throws IOException {
    channel.send(ByteBuffer.wrap(new byte[] {1, 2, 3}), client.service());
    channel.socket().setSoTimeout(5000);
    return (InetSocketAddress) channel.receive(ByteBuffer.allocate(16));
  }

  private static int busiest(List<UdpEchoServer> udp) {
    int found = 0;
    for (int n = 1; n < udp.size(); n++) {
      found = udp.get(n).datagrams() > udp.get(found).datagrams() ? n : found;
    }
    return found;
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendOfASocketThatSends(SocketClient client) throws Exception {
    final List<UdpEchoServer> udp = serveUdp(client, 3);
    put(service(client, 0, active(client, 0), active(client, 1), active(client, 2)));
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(client.family)) {
                for (int i = 0; i < 20; i++) {
                  assertEquals(client.service(), answered(channel, client));
                }
                final int own = busiest(udp);
                assertEquals(20, udp.get(own).datagrams());
                put(others(client, own, BackendState.TERMINATING));
                assertEquals(client.service(), answered(channel, client));
                assertEquals(21, udp.get(own).datagrams(), "a terminating one keeps its own");
                put(others(client, own, BackendState.QUARANTINED));
                assertEquals(client.service(), answered(channel, client));
                assertEquals(21, udp.get(own).datagrams(), "a quarantined one does not");
              }
              return null;
            });
    assertEquals(22, counted(SocketCounter.SENT));
  }

  /** Returns the service with one backend in a state, and the others active. */
  private ServiceEntries others(SocketClient client, int own, BackendState state) {
    final Backend[] backends = new Backend[3];
    for (int n = 0; n < backends.length; n++) {
      backends[n] = backend(client, n, n == own ? state : BackendState.ACTIVE, 1);
    }
    return service(client, 0, backends);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAnswerAConnectedDatagramSocket(SocketClient client) throws Exception {
    final List<UdpEchoServer> udp = serveUdp(client, 1);
    put(service(client, 0, active(client, 0)));
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(client.family)) {
                channel.connect(client.service());
                channel.write(ByteBuffer.wrap(new byte[] {1}));
                channel.socket().setSoTimeout(5000);
                assertEquals(1, channel.read(ByteBuffer.allocate(8)));
              }
              return null;
            });
    assertEquals(1, udp.getFirst().datagrams());
  }

  @Test
  void shouldShowABackendAsItselfToASocketThatAddressesIt() throws Exception {
    serveUdp(SocketClient.IPV4, 1);
    put(service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0)));
    final InetSocketAddress itself =
        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), FIRST_BACKEND);
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET)) {
                assertEquals(SocketClient.IPV4.service(), answered(channel, SocketClient.IPV4));
                channel.send(ByteBuffer.wrap(new byte[] {1}), itself);
                assertEquals(itself, channel.receive(ByteBuffer.allocate(8)));
              }
              return null;
            });
  }

  @Test
  void shouldKnowFourServicesOfOneSocket() throws Exception {
    final List<InetSocketAddress> frontends = new ArrayList<>();
    for (int n = 0; n < 4; n++) {
      final String address = "127.0.0." + (1 + n / 2);
      final int port = FIRST_BACKEND + n % 2;
      servers.add(UdpEchoServer.start(node.namespace(), address, port));
      final String frontend = "10.96.0." + (1 + n);
      put(
          new ServiceEntries(
              ID + n,
              IpAddress.parse(frontend),
              PORT,
              List.of(17),
              0,
              List.of(new Backend(IpAddress.parse(address), port, BackendState.ACTIVE, 1))));
      frontends.add(new InetSocketAddress(InetAddress.ofLiteral(frontend), PORT));
    }
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET)) {
                for (final InetSocketAddress frontend : frontends) {
                  channel.send(ByteBuffer.wrap(new byte[] {1}), frontend);
                }
                final Set<Object> shown = new HashSet<>();
                for (int i = 0; i < frontends.size(); i++) {
                  shown.add(channel.receive(ByteBuffer.allocate(8)));
                }
                assertEquals(Set.copyOf(frontends), shown);
              }
              return null;
            });
  }

  @Test
  void shouldKnowThePortsOfEachProtocolApart() throws Exception {
    serveTcp(1);
    put(
        new ServiceEntries(
            ID,
            IpAddress.parse("10.96.0.1"),
            PORT,
            List.of(6),
            0,
            List.of(active(SocketClient.IPV4, 0))));
    assertEquals(0, served(SocketClient.IPV4));
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET)) {
                assertThrows(
                    IOException.class,
                    () -> channel.send(ByteBuffer.allocate(1), SocketClient.IPV4.service()));
              }
              return null;
            });
    assertEquals(0, counted(SocketCounter.SENT));
  }

  @Test
  void shouldForgetAServiceWhenTheSocketConnectsToAnother() throws Exception {
    serveUdp(SocketClient.IPV4, 1);
    put(service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0)));
    final InetSocketAddress itself =
        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), FIRST_BACKEND);
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET)) {
                assertEquals(SocketClient.IPV4.service(), answered(channel, SocketClient.IPV4));
                channel.connect(itself);
                channel.write(ByteBuffer.wrap(new byte[] {1}));
                assertEquals(itself, channel.receive(ByteBuffer.allocate(8)));
              }
              return null;
            });
  }

  @Test
  void shouldKeepTheBackendOfAClientWithAffinity() throws Exception {
    serveTcp(3);
    final Backend[] backends = {
      active(SocketClient.IPV4, 0), active(SocketClient.IPV4, 1), active(SocketClient.IPV4, 2)
    };
    put(service(SocketClient.IPV4, 60, backends));
    final int own = served(SocketClient.IPV4);
    for (int i = 0; i < 20; i++) {
      assertEquals(own, served(SocketClient.IPV4));
    }
    backends[own] = backend(SocketClient.IPV4, own, BackendState.TERMINATING, 1);
    put(service(SocketClient.IPV4, 60, backends));
    final int next = served(SocketClient.IPV4);
    assertNotEquals(own, next, "a terminating one gets nothing new");
    backends[own] = active(SocketClient.IPV4, own);
    put(service(SocketClient.IPV4, 1, backends));
    int last = served(SocketClient.IPV4);
    for (int i = 0; last == next && i < 20; i++) {
      Thread.sleep(1100);
      last = served(SocketClient.IPV4);
    }
    assertNotEquals(next, last, "drawn again after a second");
  }

  @Test
  void shouldAttachProgramsOnlyWhileThereIsAService() {
    assertEquals(Hooks.IDLE, manager.services().hooks());
    assertEquals(0, socketPins());
    put(service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0)));
    assertEquals(Hooks.ATTACHED, manager.services().hooks());
    assertEquals(SocketHook.values().length, socketPins());
    await(manager.services().remove(ID));
    assertEquals(Hooks.IDLE, manager.services().hooks());
    assertEquals(0, socketPins());
    for (final String map : List.of("services", "service_slots", "service_backends")) {
      assertEquals(0, manager.maps().find(map).orElseThrow().countEntries(), map);
    }
  }

  @Test
  void shouldHaveItsProgramsWhereTheLastServiceGoesWhileAnotherComes() throws Exception {
    serveTcp(1);
    for (int i = 0; i < 5; i++) {
      put(service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0)));
      final CompletableFuture<Void> removed = manager.services().remove(ID);
      final CompletableFuture<Void> other =
          manager
              .services()
              .put(
                  new ServiceEntries(
                      ID + 1,
                      IpAddress.parse("10.96.0.1"),
                      PORT,
                      List.of(6),
                      0,
                      List.of(active(SocketClient.IPV4, 0))));
      await(removed);
      await(other);
      assertEquals(0, served(SocketClient.IPV4));
      await(manager.services().remove(ID + 1));
    }
  }

  @Test
  void shouldAttachItsProgramsWhenTheControlGroupIsThere() throws Exception {
    serveTcp(1);
    final ServiceEntries service = service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0));
    manager.close();
    final Path file = Files.createFile(node.state().resolve("cgroup"));
    manager = node.launch(node.context().cgroupRoot(file));
    await(manager.services().restore(List.of(service), Set.of()));
    final GuardWatch watch = new GuardWatch(manager);
    watch.awaitLevel(Level.STOPPED);
    watch.awaitMessage("socket programs not attached");
    assertThrows(OperationException.class, () -> put(service(SocketClient.IPV4, 9)));
    Files.delete(file);
    Files.createSymbolicLink(file, group.path());
    watch.awaitRight();
    assertEquals(0, served(SocketClient.IPV4));
  }

  private long socketPins() {
    return node.pins().stream().filter(pin -> pin.startsWith("agent/sockets/")).count();
  }

  @Test
  void shouldServeWithoutTheAgentAndGoOnAfterARestart() throws Exception {
    final List<UdpEchoServer> udp = serveUdp(SocketClient.IPV4, 3);
    serveTcp(3);
    final ServiceEntries service =
        service(
            SocketClient.IPV4,
            0,
            active(SocketClient.IPV4, 0),
            active(SocketClient.IPV4, 1),
            active(SocketClient.IPV4, 2));
    put(service);
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET)) {
                assertEquals(SocketClient.IPV4.service(), answered(channel, SocketClient.IPV4));
                manager.close();
                connect(SocketClient.IPV4);
                assertEquals(SocketClient.IPV4.service(), answered(channel, SocketClient.IPV4));
                launch();
                await(manager.services().restore(List.of(service), Set.of()));
                connect(SocketClient.IPV4);
                for (int i = 0; i < 10; i++) {
                  assertEquals(SocketClient.IPV4.service(), answered(channel, SocketClient.IPV4));
                }
                assertEquals(12, udp.get(busiest(udp)).datagrams());
              }
              return null;
            });
  }

  @Test
  void shouldRemoveTheServicesOfAPreviousRunButThoseThatAreKept() throws Exception {
    serveTcp(2);
    put(service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0)));
    put(
        new ServiceEntries(
            ID + 1,
            IpAddress.parse("10.96.0.2"),
            PORT,
            List.of(6),
            0,
            List.of(active(SocketClient.IPV4, 1))));
    manager.close();
    launch();
    await(manager.services().restore(List.of(), Set.of(ID)));
    assertEquals(0, served(SocketClient.IPV4));
    assertEquals(2, manager.maps().find("services").orElseThrow().countEntries());
    assertEquals(1, manager.maps().find("service_slots").orElseThrow().countEntries());
    assertEquals(1, manager.maps().find("service_backends").orElseThrow().countEntries());
    await(manager.services().remove(ID));
    assertEquals(0, manager.maps().find("services").orElseThrow().countEntries());
    assertEquals(Hooks.IDLE, manager.services().hooks());
  }

  @ParameterizedTest
  @EnumSource(names = {"IPV4", "IPV6"})
  void shouldNameTheFrontendsOfAServiceThatIsKept(SocketClient client) {
    final ServiceEntries service = service(client, 0, active(client, 0));
    put(service);
    manager.close();
    launch();
    assertEquals(
        Set.of(
            new KeptFrontend(ID, service.address(), PORT, 6),
            new KeptFrontend(ID, service.address(), PORT, 17)),
        Set.copyOf(await(manager.services().restore(List.of(), Set.of(ID, ID + 1)))));
  }

  @Test
  void shouldLeaveAFrontendToTheServiceThatHasItWhenOneThatIsKeptGoes() throws Exception {
    serveTcp(2);
    final ServiceEntries kept = service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0));
    put(kept);
    manager.close();
    launch();
    final ServiceEntries other =
        new ServiceEntries(
            ID + 1, kept.address(), PORT, List.of(6), 0, List.of(active(SocketClient.IPV4, 1)));
    assertEquals(
        List.of(new KeptFrontend(ID, kept.address(), PORT, 17)),
        await(manager.services().restore(List.of(other), Set.of(ID))));
    await(manager.services().remove(ID));
    assertEquals(1, served(SocketClient.IPV4));
    for (final String map : List.of("services", "service_slots", "service_backends")) {
      assertEquals(1, manager.maps().find(map).orElseThrow().countEntries(), map);
    }
  }

  @Test
  void shouldRepairWhatAnotherToolChanges() throws Exception {
    serveTcp(1);
    put(service(SocketClient.IPV4, 0, active(SocketClient.IPV4, 0)));
    final GuardWatch watch = new GuardWatch(manager);
    for (final String name : List.of("services", "service_slots", "service_backends")) {
      watch.deleteEntryAndAwaitRepair(manager.maps().find(name).orElseThrow());
    }
    final long before = watch.repairs(Kind.LINK);
    final List<String> detached = List.of("socket_connect4", "socket_bind4", "socket_bind6");
    for (final String name : detached) {
      try (BpfLink link =
          BpfLink.openPinned(node.bpfRoot().resolve("agent/sockets").resolve(name)).orElseThrow()) {
        link.detach();
      }
    }
    watch.awaitRepair(Kind.LINK, before + detached.size());
    assertEquals(0, served(SocketClient.IPV4));
    watch.awaitRight();
  }
}
