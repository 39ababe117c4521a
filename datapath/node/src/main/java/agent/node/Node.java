package agent.node;

import agent.node.NodeStore.NodeRecord;
import agent.types.Refusal;
import java.util.Optional;

/**
 * This node: chooses its addresses, adds the gateways of workloads, and enables forwarding. The
 * configuration stays when the agent ends, so that workloads keep their connectivity. Every method
 * works in the network namespace of the calling thread.
 */
public final class Node {
  private final Sysctls sysctls;
  private final Devices devices;
  private final LocalAddresses localAddresses;
  private final NodeAddressing addressing;
  private final NetlinkGateways gateways;

  private Node(
      Sysctls sysctls, Devices devices, LocalAddresses localAddresses, NodeAddressing addressing) {
    this.sysctls = sysctls;
    this.devices = devices;
    this.localAddresses = localAddresses;
    this.addressing = addressing;
    this.gateways = new NetlinkGateways(localAddresses, addressing);
  }

  /**
   * Chooses the node's addresses, stores the choice, and configures the stack.
   *
   * @param options the daemon's options
   * @param store keeps the choice for the next run
   * @return the node
   * @throws Refusal INVALID with an option's name, FAILED with the kernel's message
   */
  public static Node open(NodeOptions options, NodeStore store) {
    final Optional<NodeRecord> before = store.load();
    final Devices devices = new NetlinkDevices();
    final LocalAddresses addresses = new NetlinkLocalAddresses();
    if (options.namesDevice()) {
      final String device = InterfaceName.check("device", options.device());
      if (devices.byName(device).isEmpty()) {
        throw Refusal.invalid("device", "there is no interface '" + device + "'");
      }
    }
    final NodeAddressing addressing = new AddressingChoice(options, addresses, before).choose();
    final NodeRecord now = remembered(addressing, before);
    if (!before.equals(Optional.of(now))) {
      store.save(now);
    }
    final Node node = new Node(Sysctls.ofKernel(), devices, addresses, addressing);
    node.gateways.own(before);
    node.forward();
    return node;
  }

  /**
   * Returns the record to store; a disabled family keeps its range for a later run that enables it.
   */
  private static NodeRecord remembered(NodeAddressing addressing, Optional<NodeRecord> before) {
    return new NodeRecord(
        addressing.ipv4().enabled()
            ? addressing.ipv4().range()
            : before.map(NodeRecord::ipv4Range).orElse(null),
        addressing.ipv6().enabled()
            ? addressing.ipv6().range()
            : before.map(NodeRecord::ipv6Range).orElse(null));
  }

  private void forward() {
    if (addressing.ipv4().enabled()) {
      sysctls.set("1", "ipv4", "ip_forward");
    }
    if (addressing.ipv6().enabled()
        && !sysctls.get("ipv6", "conf", "all", "forwarding").equals("1")) {
      keepRouterAdvertisements();
      sysctls.set("1", "ipv6", "conf", "all", "forwarding");
    }
  }

  /**
   * Sets {@code accept_ra} from 1 to 2 on every device: with 1, a device ignores router
   * advertisements once the node forwards (ip-sysctl.rst).
   */
  private void keepRouterAdvertisements() {
    for (final String device : sysctls.list("ipv6", "conf")) {
      if (!device.equals("all")
          && !device.equals("default")
          && sysctls.get("ipv6", "conf", device, "accept_ra").equals("1")) {
        sysctls.set("2", "ipv6", "conf", device, "accept_ra");
      }
    }
  }

  /** Returns the addresses and address ranges of the node. */
  public NodeAddressing addressing() {
    return addressing;
  }

  /** Returns the reader of the node's present addresses. */
  public LocalAddresses localAddresses() {
    return localAddresses;
  }

  /** Returns the reader of the node's present devices. */
  public Devices devices() {
    return devices;
  }

  /** Returns the gateways of workloads. */
  public Gateways gateways() {
    return gateways;
  }

  /** Returns the routes to workloads. */
  public WorkloadRoutes routes() {
    return new NetlinkWorkloadRoutes(sysctls, addressing);
  }
}
