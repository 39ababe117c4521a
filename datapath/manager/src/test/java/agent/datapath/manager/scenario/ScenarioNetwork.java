package agent.datapath.manager.scenario;

import agent.testkit.NetworkNamespace;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;

/**
 * The network namespace of a routed node: it forwards, has the interfaces of the workloads with
 * their indexes, and two devices with routes to the network. The routes to all hosts outside this
 * node are by the first one.
 */
final class ScenarioNetwork implements AutoCloseable {
  static final int DEVICE = 20;
  static final int OTHER_DEVICE = 21;
  private static final int PEER_INDEXES = 100;

  private final NetworkNamespace namespace = NetworkNamespace.create("scenario");

  private ScenarioNetwork() {}

  static ScenarioNetwork create() {
    final ScenarioNetwork network = new ScenarioNetwork();
    network.forward(true);
    for (final ScenarioHost host : ScenarioHost.values()) {
      if (host.isLocal()) {
        network.device(host.ifindex);
      }
    }
    network.device(DEVICE);
    network.device(OTHER_DEVICE);
    network.route("default", "dev " + name(DEVICE));
    return network;
  }

  static String name(int ifindex) {
    return "dev" + ifindex;
  }

  private void device(int ifindex) {
    final int peer = PEER_INDEXES + ifindex;
    namespace.ip(
        "link add %s index %d type veth peer name %s index %d"
            .formatted(name(ifindex), ifindex, name(peer), peer));
    for (final int end : new int[] {ifindex, peer}) {
      namespace.ip("link set " + name(end) + " addrgenmode none");
      namespace.ip("link set " + name(end) + " up");
    }
  }

  /** Routes a destination, which is {@code default} or an address, in its family. */
  void route(String destination, String way) {
    for (final String family : new String[] {"-4", "-6"}) {
      if (destination.equals("default") || destination.contains(":") == family.equals("-6")) {
        namespace.ip(family + " route replace " + destination + " " + way);
      }
    }
  }

  /** Routes both addresses of a host by a device, or another way such as {@code unreachable}. */
  void route(ScenarioHost host, String way) {
    for (final String address : new String[] {host.ipv4, host.ipv6}) {
      final boolean isType = !way.startsWith("dev ");
      namespace.ip(
          (address.contains(":") ? "-6" : "-4")
              + " route replace "
              + (isType ? way + " " + address : address + " " + way));
    }
  }

  /** Makes the MAC address of a host known, which is on the link of a device. */
  void resolve(ScenarioHost host, int ifindex) {
    for (final String address : new String[] {host.ipv4, host.ipv6}) {
      namespace.ip(
          "neigh replace "
              + address
              + " lladdr 02:00:00:00:99:01 dev "
              + name(ifindex)
              + " nud permanent");
    }
  }

  /** Makes it unknown again. */
  void forget(ScenarioHost host, int ifindex) {
    for (final String address : new String[] {host.ipv4, host.ipv6}) {
      namespace.ip("neigh delete " + address + " dev " + name(ifindex));
    }
  }

  void mtu(int ifindex, int bytes) {
    namespace.ip("link set " + name(ifindex) + " mtu " + bytes);
  }

  void forward(boolean isOn) {
    final String value = isOn ? "1" : "0";
    call(
        () -> {
          Files.writeString(Path.of("/proc/sys/net/ipv4/ip_forward"), value);
          return Files.writeString(Path.of("/proc/sys/net/ipv6/conf/all/forwarding"), value);
        });
  }

  /** Runs work on a thread in the namespace. */
  <T> T call(Callable<T> work) {
    return namespace.call(work);
  }

  @Override
  public void close() {
    namespace.close();
  }
}
