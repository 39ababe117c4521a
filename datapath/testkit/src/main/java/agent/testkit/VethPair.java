package agent.testkit;

import java.util.HexFormat;

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
    host.ip(
        "link add %s type veth peer name %s netns %s"
            .formatted(hostInterface, workloadInterface, workload.path()),
        "link set " + hostInterface + " addrgenmode none up");
    workload.ip("link set " + workloadInterface + " addrgenmode none up");
    return new VethPair(
        host,
        hostInterface,
        index(host, hostInterface),
        mac(host, hostInterface),
        workload,
        workloadInterface,
        index(workload, workloadInterface),
        mac(workload, workloadInterface));
  }

  /** Returns the index of an interface. */
  public static int index(NetworkNamespace namespace, String name) {
    return namespace.call(() -> SystemCalls.interfaceIndex(name));
  }

  private static String mac(NetworkNamespace namespace, String name) {
    return HexFormat.ofDelimiter(":")
        .formatHex(namespace.call(() -> SystemCalls.hardwareAddress(name)));
  }

  /** Removes both sides. */
  public void delete() {
    host.exec("ip", "link", "delete", hostInterface);
  }
}
