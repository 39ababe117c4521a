package agent.datapath.manager;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.XdpMode;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A node between a client and a backend, which answers the client by a link of its own. The backend
 * has the address of the service on its loopback device, and takes the outer header of what it
 * receives away.
 */
final class DirectReturnNetwork implements AutoCloseable {
  static final String DEVICE = "up0";
  static final String BACKEND_DEVICE = "be0";
  static final int PORT = 80;
  static final String VIP4 = "203.0.113.1";
  static final String VIP6 = "2001:db8:aaaa::1";
  static final String CLIENT4 = "192.0.2.2";
  static final String CLIENT6 = "2001:db8::2";
  static final String BACKEND4 = "198.51.100.2";
  static final String BACKEND6 = "2001:db8:1::2";

  final ManagerTestNode node = new ManagerTestNode();
  final TestControlGroup group = TestControlGroup.create();
  final NetworkNamespace client = NetworkNamespace.create("cl");
  final NetworkNamespace backend = NetworkNamespace.create("be");
  final TcpEchoServer server;
  private final List<BpfLink> ends = new ArrayList<>();

  DirectReturnNetwork() throws Exception {
    link(node.namespace(), DEVICE, "192.0.2.1", "2001:db8::1", client, CLIENT4, CLIENT6);
    link(
        node.namespace(),
        BACKEND_DEVICE,
        "198.51.100.1",
        "2001:db8:1::1",
        backend,
        BACKEND4,
        BACKEND6);
    // its ARP requests have a 4 where IPv4 has the protocol of an outer header
    node.namespace().ip("link set " + BACKEND_DEVICE + " address 02:04:00:00:00:01");
    VethPair.create(client, "direct", backend, "direct");
    address(client, "direct", "10.8.0.1", "fd08::1");
    address(backend, "direct", "10.8.0.2", "fd08::2");
    client.ip("route add " + VIP4 + " via 192.0.2.1", "route add " + VIP6 + " via 2001:db8::1");
    backend.ip(
        "route add " + CLIENT4 + " via 10.8.0.1",
        "route add " + CLIENT6 + " via fd08::1",
        "link set lo up",
        "address add " + VIP4 + "/32 dev lo",
        "address add " + VIP6 + "/128 dev lo nodad");
    client.completeChecksums("net0");
    server = TcpEchoServer.start(backend, PORT);
    attach(backend, "decapsulate");
    attach(client, "trivial_xdp"); // or the device of the node could not send to it from XDP
  }

  private static void link(
      NetworkNamespace from,
      String device,
      String own4,
      String own6,
      NetworkNamespace to,
      String other4,
      String other6)
      throws Exception {
    VethPair.create(from, device, to, "net0");
    address(from, device, own4, own6);
    address(to, "net0", other4, other6);
  }

  private static void address(NetworkNamespace namespace, String device, String ipv4, String ipv6)
      throws Exception {
    namespace.ip(
        "address add " + ipv4 + "/24 dev " + device,
        "address add " + ipv6 + "/64 dev " + device + " nodad");
    final String linkLocal = "fe80::" + ipv6.substring(ipv6.lastIndexOf(':') + 1);
    namespace.ip("-6 address add " + linkLocal + "/64 dev " + device + " nodad"); // for ND
    for (final String each : List.of("all", device)) { // answers come by another link
      namespace.run(
          () -> Files.writeString(Path.of("/proc/sys/net/ipv4/conf", each, "rp_filter"), "0"));
    }
  }

  private void attach(NetworkNamespace end, String program) throws Exception {
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject object = BpfObject.open(in.readAllBytes(), "trivial")) {
      object.load();
      final int ifindex = VethPair.index(end, "net0");
      ends.add(end.run(() -> BpfLink.createXdp(object.program(program), ifindex, XdpMode.NATIVE)));
    }
  }

  @Override
  public void close() throws IOException {
    ends.forEach(BpfLink::close);
    server.close();
    client.close();
    backend.close();
    node.close();
    group.close();
  }
}
