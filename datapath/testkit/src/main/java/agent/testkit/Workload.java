package agent.testkit;

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
    if (ipv4 != null) {
      namespace.exec("ip", "address", "add", ipv4 + "/32", "dev", "eth0");
      namespace.exec("ip", "route", "add", gateway4 + "/32", "dev", "eth0", "scope", "link");
      namespace.exec("ip", "route", "add", "default", "via", gateway4, "dev", "eth0");
    }
    if (ipv6 != null) {
      namespace.exec("ip", "-6", "address", "add", ipv6 + "/128", "dev", "eth0", "nodad");
      namespace.exec("ip", "-6", "route", "add", gateway6 + "/128", "dev", "eth0");
      namespace.exec("ip", "-6", "route", "add", "default", "via", gateway6, "dev", "eth0");
    }
    return new Workload(namespace, veth, ipv4, ipv6);
  }

  /** Adds a route and a permanent neighbour entry for each address to the node. */
  public Workload routeFromNode() {
    final NetworkNamespace node = veth.host();
    final String device = veth.hostInterface();
    for (final String address : new String[] {ipv4, ipv6}) {
      if (address != null) {
        final String prefix = address + (address.indexOf(':') < 0 ? "/32" : "/128");
        final String mac = veth.workloadMac();
        node.exec(
            "ip", "neigh", "replace", address, "lladdr", mac, "dev", device, "nud", "permanent");
        node.exec("ip", "route", "replace", prefix, "dev", device);
      }
    }
    return this;
  }

  @Override
  public void close() {
    namespace.close();
  }
}
