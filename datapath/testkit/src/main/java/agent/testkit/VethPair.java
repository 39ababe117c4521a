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
    final Side outer = Side.of(host, hostInterface);
    final Side inner = Side.of(workload, workloadInterface);
    return new VethPair(
        host,
        hostInterface,
        outer.ifindex,
        outer.mac,
        workload,
        workloadInterface,
        inner.ifindex,
        inner.mac);
  }

  private record Side(int ifindex, String mac) {
    static Side of(NetworkNamespace namespace, String name) {
      return namespace.call(
          () ->
              new Side(
                  SystemCalls.interfaceIndex(name),
                  HexFormat.ofDelimiter(":").formatHex(SystemCalls.hardwareAddress(name))));
    }
  }

  /** Returns the index of an interface. */
  public static int index(NetworkNamespace namespace, String name) {
    return namespace.call(() -> SystemCalls.interfaceIndex(name));
  }

  /** Removes both sides. */
  public void delete() {
    host.exec("ip", "link", "delete", hostInterface);
  }
}
