package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceScope;
import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sockets of the node that ask for a port, on the real kernel. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class BoundPortKernelTest {
  private static final int ID = 7;
  private static final int PORT = 30_080;
  private static final int OTHER_PORT = 30_081;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final Set<ServiceScope> BOTH = Set.of(ServiceScope.values());
  private static final Set<ServiceScope> INSIDE = Set.of(ServiceScope.INSIDE);
  private static final Set<ServiceScope> OUTSIDE = Set.of(ServiceScope.OUTSIDE);

  /** Addresses of one family. */
  enum Family {
    IPV4(StandardProtocolFamily.INET, "0.0.0.0", ManagerTestNode.GATEWAY4, "127.0.0.9", "10.1.0.5"),
    IPV6(StandardProtocolFamily.INET6, "::", ManagerTestNode.GATEWAY6, "::1", "fd01::5");

    private final ProtocolFamily family;
    private final String all;
    private final String ofNode;
    private final String notReached;
    private final String elsewhere;

    Family(ProtocolFamily family, String all, String ofNode, String notReached, String elsewhere) {
      this.family = family;
      this.all = all;
      this.ofNode = ofNode;
      this.notReached = notReached;
      this.elsewhere = elsewhere;
    }

    private NetworkChannel open(int protocol) throws IOException {
      return protocol == TCP ? ServerSocketChannel.open(family) : DatagramChannel.open(family);
    }
  }

  private static ManagerTestNode node;
  private static TestControlGroup group;
  private static DatapathManager manager;

  @BeforeAll
  static void create() {
    node = new ManagerTestNode();
    group = TestControlGroup.enter();
    manager = node.launch(node.context().cgroupRoot(group.path()));
    await(manager.services().restore(List.of(), Set.of()));
    await(
        manager
            .ipcache()
            .apply(
                List.of(
                    ofNode(ManagerTestNode.GATEWAY4 + "/32"),
                    ofNode(ManagerTestNode.GATEWAY6 + "/128"))));
  }

  private static IpcacheChange ofNode(String prefix) {
    return new IpcacheChange(null, new IpcacheEntry(Prefix.parse(prefix), 1, 0, true));
  }

  @AfterEach
  void removeServices() {
    await(manager.services().restore(List.of(), Set.of()));
  }

  @AfterAll
  static void remove() throws Exception {
    manager.close();
    group.close();
    node.close();
  }

  private static void serve(
      int id, String frontend, int protocol, Set<ServiceScope> scopes, Backend... backends) {
    await(
        manager
            .services()
            .put(
                new ServiceEntries(
                    id,
                    IpAddress.parse(frontend),
                    PORT,
                    List.of(protocol),
                    0,
                    scopes,
                    List.of(backends))));
  }

  private static Backend backend(String address, int port, BackendState state) {
    return new Backend(IpAddress.parse(address), port, state, 1);
  }

  private static Backend active(String address, int port) {
    return backend(address, port, BackendState.ACTIVE);
  }

  /** Binds a socket to an address and port, and returns it; the caller closes it. */
  private static NetworkChannel bind(
      NetworkNamespace namespace, Family family, int protocol, String address, int port)
      throws Exception {
    return namespace.run(
        () -> {
          final NetworkChannel channel = family.open(protocol);
          try {
            return channel.bind(new InetSocketAddress(InetAddress.ofLiteral(address), port));
          } catch (IOException refused) {
            channel.close();
            throw refused;
          }
        });
  }

  private static void assertFree(Family family, int protocol, String address, int port) {
    assertDoesNotThrow(
        () -> bind(node.namespace(), family, protocol, address, port).close(),
        address + " port " + port + " of protocol " + protocol);
  }

  private static void assertRefused(Family family, int protocol, String address) {
    final BindException refused =
        assertThrows(
            BindException.class,
            () -> bind(node.namespace(), family, protocol, address, PORT).close(),
            address + " of protocol " + protocol);
    assertEquals("Address already in use", refused.getMessage());
  }

  /** Where packets from outside do not reach the socket they are not taken from it. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseAPortThatAServiceHasOnTheNode(Family family) {
    for (final int protocol : new int[] {TCP, UDP}) {
      final int other = TCP + UDP - protocol;
      serve(ID, family.all, protocol, BOTH, active(family.elsewhere, 80));
      assertRefused(family, protocol, family.all);
      assertRefused(family, protocol, family.ofNode);
      assertFree(family, protocol, family.notReached, PORT);
      assertFree(family, protocol, family.all, OTHER_PORT);
      assertFree(family, protocol, family.all, 0);
      assertFree(family, other, family.all, PORT);
      await(manager.services().remove(ID));
      assertFree(family, protocol, family.all, PORT);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefuseTheAddressOfAServiceAndNoOther(Family family) {
    serve(ID, family.ofNode, TCP, BOTH, active(family.elsewhere, 80));
    assertRefused(family, TCP, family.ofNode);
    assertFree(family, TCP, family.all, PORT);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeavePortsOfServicesThatAreForTheNodeAlone(Family family) {
    serve(ID, family.ofNode, TCP, INSIDE, active(family.elsewhere, 80));
    serve(ID + 1, family.elsewhere, TCP, BOTH, active(family.elsewhere, 80)); // opens the gate
    assertFree(family, TCP, family.ofNode, PORT);
  }

  /** One that starts is not active yet, and one that starts anew is not any more. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveThePortToABackendOfTheService(Family family) {
    for (final BackendState state : BackendState.values()) {
      serve(
          ID,
          family.all,
          TCP,
          BOTH,
          active(family.elsewhere, 80),
          backend(family.ofNode, PORT, state));
      assertFree(family, TCP, family.all, PORT);
      assertFree(family, TCP, family.ofNode, PORT);
    }
    serve(ID, family.all, TCP, BOTH, active(family.elsewhere, PORT));
    assertRefused(family, TCP, family.all);
    assertRefused(family, TCP, family.ofNode);
    serve(ID, family.all, TCP, BOTH, active(family.ofNode, OTHER_PORT));
    assertRefused(family, TCP, family.all);
    serve(ID + 1, family.elsewhere, TCP, BOTH, active(family.ofNode, PORT));
    assertRefused(family, TCP, family.all);
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveThePortToABackendOfEitherSide(Family family) {
    final int outside = ID | ServiceEntries.OUTSIDE_ID;
    serve(ID, family.all, TCP, INSIDE, active(family.ofNode, PORT));
    serve(outside, family.all, TCP, OUTSIDE, active(family.elsewhere, 80));
    assertFree(family, TCP, family.all, PORT);
    serve(ID, family.all, TCP, INSIDE, active(family.elsewhere, 80));
    assertRefused(family, TCP, family.all);
    serve(outside, family.all, TCP, OUTSIDE, active(family.ofNode, PORT));
    assertFree(family, TCP, family.all, PORT);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheProcessesOfWorkloadsAlone(Family family) throws Exception {
    serve(ID, family.all, TCP, BOTH, active(family.elsewhere, 80));
    try (NetworkNamespace workload = NetworkNamespace.create("bp")) {
      bind(workload, family, TCP, family.all, PORT).close();
    }
    assertRefused(family, TCP, family.all);
  }

  /** Another one beside it would get nothing, either. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepASocketThatHasThePortAlready(Family family) throws Exception {
    final var reused = StandardSocketOptions.SO_REUSEPORT;
    try (NetworkChannel first = node.namespace().run(() -> family.open(UDP));
        NetworkChannel second = node.namespace().run(() -> family.open(UDP))) {
      final InetSocketAddress address =
          new InetSocketAddress(InetAddress.ofLiteral(family.all), PORT);
      first.setOption(reused, true).bind(address);
      serve(ID, family.all, UDP, BOTH, active(family.elsewhere, 80));
      assertEquals(address, first.getLocalAddress());
      second.setOption(reused, true);
      assertThrows(BindException.class, () -> second.bind(address));
      await(manager.services().remove(ID));
      second.bind(address);
    }
  }

  /**
   * A socket of IPv6 at all addresses takes what comes for those of IPv4, unless it says not to.
   */
  @Test
  void shouldRefuseASocketOfBothFamiliesThePortOfEither() {
    serve(ID, Family.IPV4.all, TCP, BOTH, active(Family.IPV4.elsewhere, 80));
    assertRefused(Family.IPV6, TCP, Family.IPV6.all);
    assertRefused(Family.IPV6, TCP, "::ffff:" + ManagerTestNode.GATEWAY4);
    serve(ID + 1, Family.IPV4.all, UDP, BOTH, active(Family.IPV4.elsewhere, 80));
    assertRefused(Family.IPV6, UDP, Family.IPV6.all);
    for (final String protocol : List.of("Listen => 1", "Proto => 'udp'")) {
      final Commands.Outcome alone =
          node.namespace()
              .attempt(
                  "perl",
                  "-MIO::Socket::IP",
                  "-e",
                  "IO::Socket::IP->new(LocalHost => '::', LocalPort => $ARGV[0], V6Only => 1, "
                      + protocol
                      + ") or die $@;",
                  Integer.toString(PORT));
      assertEquals(0, alone.status(), alone.output());
    }
    serve(ID, Family.IPV6.all, TCP, BOTH, active(Family.IPV6.elsewhere, 80));
    assertFree(Family.IPV4, TCP, Family.IPV4.all, PORT);
  }
}
