package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.MapFlag;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.MapSize;
import agent.maps.layout.RedirectKind;
import agent.maps.layout.RedirectSocketFlyweight;
import agent.maps.layout.RedirectSocketKeyFlyweight;
import agent.testkit.IpPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/** A proxy that a routed node sends flows to, and the packets of these flows. */
final class ScenarioProxy {
  /** The port of each server. */
  static final int PORT = 80;

  /** The port of each client. */
  static final int CLIENT = 40_000;

  /** The first port of the proxy. */
  static final int PROXY = 15_000;

  /** The port of the proxy's socket that continues a flow. */
  static final int SOCKET = 50_001;

  private static final int[] PROTOCOLS = {TCP, UDP};

  private final ScenarioNode node;
  private final List<AutoCloseable> listeners = new ArrayList<>();

  ScenarioProxy(ScenarioNode node) {
    this.node = node;
  }

  static int[] protocols() {
    return PROTOCOLS.clone();
  }

  /** Listens on all ports of the proxy, which the programs know then. */
  void listen() throws Exception {
    for (int port = PROXY; port < PROXY + MapSize.REDIRECT_PORTS; port++) {
      final InetSocketAddress address = new InetSocketAddress("::", port);
      listeners.add(
          node.network()
              .call(
                  () -> {
                    final ServerSocket socket = new ServerSocket();
                    socket.bind(address);
                    return socket;
                  }));
      listeners.add(node.network().call(() -> new DatagramSocket(address)));
    }
    serve(node, RedirectKind.HTTP, PROXY);
  }

  /** Sets the first port of a proxy; 0: there is none. */
  static void serve(ScenarioNode node, RedirectKind kind, int port) {
    final EntryBuffer entry = new EntryBuffer(node.map("redirect_proxies"));
    entry.key().putInt(0, kind.number());
    entry.value().putInt(0, port);
    assertEquals(0, node.map("redirect_proxies").update(entry, MapFlag.ANY));
  }

  /**
   * Makes an endpoint send its share of datagrams to proxies but for some, in the present window.
   *
   * @param endpoint its id; 0: all clients outside
   */
  static void spendShare(ScenarioNode node, int endpoint, int left) {
    final EntryBuffer entry = new EntryBuffer(node.map("redirect_rates"));
    entry.key().putInt(0, endpoint);
    entry.value().putInt(0, RateWindow.present());
    entry.value().putInt(4, MapSize.REDIRECT_DATAGRAMS - left);
    assertEquals(0, node.map("redirect_rates").update(entry, MapFlag.ANY));
  }

  /** Stops listening. */
  void silence() throws Exception {
    for (final AutoCloseable listener : listeners) {
      listener.close();
    }
    listeners.clear();
  }

  /** Opens a flow of a workload, whose first packet the proxy gets. */
  void open(Family family, ScenarioHost client, ScenarioHost server, int protocol) {
    node.fromWorkload(client, opening(family.packet(client, server), protocol, CLIENT, PORT))
        .passesAs(of(client, opening(family.packet(client, HOST), protocol, CLIENT, PROXY)));
  }

  /** Says that a socket of the proxy continues a flow. */
  void join(Family family, ScenarioHost client, ScenarioHost server, int protocol) {
    final EntryBuffer entry = new EntryBuffer(node.map("redirect_sockets"));
    new RedirectSocketKeyFlyweight()
        .wrap(entry.key(), 0)
        .port(SOCKET)
        .protocol(protocol)
        .family(family == Family.IPV4 ? 4 : 6);
    final RedirectSocketFlyweight socket =
        new RedirectSocketFlyweight().wrap(entry.value(), 0).clientPort(CLIENT).serverPort(PORT);
    if (family == Family.IPV4) {
      socket.client((long) client.ipv4Number() << 32, 0);
      socket.server((long) server.ipv4Number() << 32, 0);
    } else {
      socket.client(client.ipv6High(), client.ipv6Low());
      socket.server(server.ipv6High(), server.ipv6Low());
    }
    assertEquals(0, node.map("redirect_sockets").update(entry, MapFlag.ANY));
  }

  static IpPacket opening(IpPacket packet, int protocol, int from, int to) {
    return protocol == TCP ? packet.tcp(from, to).syn() : packet.udp(from, to);
  }

  static IpPacket packet(
      Family family, ScenarioHost from, int fromPort, ScenarioHost to, int toPort, int protocol) {
    return Family.ports(family.packet(from, to), protocol, fromPort, toPort).payload("answer");
  }

  /** The MAC addresses of a packet that a workload sends to its gateway. */
  static IpPacket of(ScenarioHost workload, IpPacket packet) {
    return packet.from(workload.mac()).to(workload.hostMac());
  }

  static IpPacket to(ScenarioHost workload, IpPacket packet) {
    return packet.from(workload.hostMac()).to(workload.mac());
  }

  static IpPacket arriving(IpPacket packet) {
    return packet.from("02:00:00:00:99:01").to(DEVICE_MAC);
  }
}
