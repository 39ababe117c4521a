package agent.testkit;

import java.util.ArrayList;
import java.util.List;

/**
 * A workload configured as by an operator: a namespace, a veth whose host side is in the namespace
 * of the node, its addresses as /32 and /128, and a default route through an on-link gateway. The
 * code under test configures the node: routes, and answers to ARP and ND for the gateway.
 */
public record Workload(NetworkNamespace namespace, VethPair veth, String ipv4, String ipv6)
    implements AutoCloseable {

  /** Creates a workload; a null address omits its family. */
  public static Workload create(
      NetworkNamespace node,
      String name,
      String ipv4,
      String gateway4,
      String ipv6,
      String gateway6) {
    final NetworkNamespace namespace = NetworkNamespace.create(name);
    final VethPair veth = VethPair.create(node, "lxc" + name, namespace, "eth0");
    final List<String> commands = new ArrayList<>();
    if (ipv4 != null) {
      commands.add("address add " + ipv4 + "/32 dev eth0");
      commands.add("route add " + gateway4 + "/32 dev eth0 scope link");
      commands.add("route add default via " + gateway4 + " dev eth0");
    }
    if (ipv6 != null) {
      commands.add("address add " + ipv6 + "/128 dev eth0 nodad");
      commands.add("route add " + gateway6 + "/128 dev eth0");
      commands.add("route add default via " + gateway6 + " dev eth0");
    }
    namespace.ip(commands.toArray(String[]::new));
    return new Workload(namespace, veth, ipv4, ipv6);
  }

  /** Adds a route and a permanent neighbour entry for each address to the node. */
  public Workload routeFromNode() {
    final NetworkNamespace node = veth.host();
    final String device = veth.hostInterface();
    final List<String> commands = new ArrayList<>();
    for (final String address : new String[] {ipv4, ipv6}) {
      if (address != null) {
        final String prefix = address + (address.indexOf(':') < 0 ? "/32" : "/128");
        final String mac = veth.workloadMac();
        commands.add(
            "neigh replace %s lladdr %s dev %s nud permanent".formatted(address, mac, device));
        commands.add("route replace " + prefix + " dev " + device);
      }
    }
    node.ip(commands.toArray(String[]::new));
    return this;
  }

  @Override
  public void close() {
    namespace.close();
  }
}
