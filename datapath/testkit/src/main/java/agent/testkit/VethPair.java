package agent.testkit;

/**
 * A veth pair between two namespaces: the host side, where programs are attached, and the workload
 * side. The kernel removes it with either namespace.
 */
public record VethPair(
    NetworkNamespace host,
    String hostInterface,
    int hostIfindex,
    String hostMac,
    NetworkNamespace workload,
    String workloadInterface,
    int workloadIfindex,
    String workloadMac) {

  /** Creates the pair, both sides up and without automatic IPv6 addresses. */
  public static VethPair create(
      NetworkNamespace host,
      String hostInterface,
      NetworkNamespace workload,
      String workloadInterface) {
    host.exec(
        "ip",
        "link",
        "add",
        hostInterface,
        "type",
        "veth",
        "peer",
        "name",
        workloadInterface,
        "netns",
        workload.path());
    up(host, hostInterface);
    up(workload, workloadInterface);
    return new VethPair(
        host,
        hostInterface,
        index(host, hostInterface),
        attribute(host, hostInterface, "address"),
        workload,
        workloadInterface,
        index(workload, workloadInterface),
        attribute(workload, workloadInterface, "address"));
  }

  /** Returns the index of an interface. */
  public static int index(NetworkNamespace namespace, String name) {
    return Integer.parseInt(attribute(namespace, name, "ifindex"));
  }

  /** Removes both sides. */
  public void delete() {
    host.exec("ip", "link", "delete", hostInterface);
  }

  private static void up(NetworkNamespace namespace, String name) {
    namespace.exec("ip", "link", "set", name, "addrgenmode", "none");
    namespace.exec("ip", "link", "set", name, "up");
  }

  /**
   * Reads an attribute by netlink, because sysfs shows the namespace in which it was mounted. The
   * output may begin with a warning line about the namespace of the peer.
   */
  private static String attribute(NetworkNamespace namespace, String name, String attribute) {
    final String line =
        namespace
            .exec("ip", "-o", "link", "show", "dev", name)
            .lines()
            .filter(answer -> answer.matches("\\d+: .*"))
            .findFirst()
            .orElseThrow();
    if (attribute.equals("ifindex")) {
      return line.substring(0, line.indexOf(':')).strip();
    }
    final String mark = "link/ether ";
    final int start = line.indexOf(mark) + mark.length();
    return line.substring(start, start + 17);
  }
}
