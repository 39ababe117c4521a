package agent.node;

import agent.bindings.BindingsException;
import agent.node.NodeStore.NodeRecord;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.Map;
import java.util.Optional;

/**
 * This node: chooses its addresses, adds the gateways of workloads, and enables forwarding. The
 * configuration stays when the agent ends, so that workloads keep their connectivity. Every method
 * works in the network namespace of the calling thread.
 */
public final class Node {
  private final SysctlForwarding forwarding;
  private final Devices devices;
  private final LocalAddresses localAddresses;
  private final NodeAddressing addressing;
  private final NetlinkGateways gateways;
  private final GuardedDevices guardedDevices;
  private final int mtu;

  private Node(
      Devices devices,
      LocalAddresses localAddresses,
      NodeAddressing addressing,
      DeviceSelection selection,
      int mtu) {
    this.guardedDevices =
        new GuardedDevices(selection, devices, localAddresses, NetlinkWorkloadRoutes::devices);
    this.forwarding = new SysctlForwarding(Sysctls.ofKernel(), addressing, mtu);
    this.mtu = mtu;
    this.devices = devices;
    this.localAddresses = localAddresses;
    this.addressing = addressing;
    this.gateways = new NetlinkGateways(localAddresses, addressing);
  }

  /**
   * Checks the options, and changes nothing.
   *
   * @param options the daemon's options
   * @param named devices that must be there, by the option that names each
   * @return addresses that a node without a previous run could have
   * @throws Refusal INVALID with an option's name, FAILED with the kernel's message
   */
  public static NodeAddressing check(NodeOptions options, Map<String, String> named) {
    final Devices devices = new NetlinkDevices();
    requireDevices(devices, DeviceSelection.parse(options.device()));
    named.forEach((option, device) -> requireDevice(devices, option, device));
    return new AddressingChoice(options, new NetlinkLocalAddresses(), Optional.empty()).choose();
  }

  private static void requireDevices(Devices devices, DeviceSelection selection) {
    selection.required().forEach(device -> requireDevice(devices, "device", device));
  }

  private static void requireDevice(Devices devices, String option, String device) {
    if (devices.byName(device).isEmpty()) {
      throw Refusal.invalid(option, "interface '" + device + "' does not exist");
    }
  }

  /**
   * Chooses the node's addresses, stores the choice, and configures the stack.
   *
   * @param options the daemon's options
   * @param mtu {@code --mtu}: the MTU of the interfaces of workloads, or 0
   * @param store keeps the choice for the next run
   * @return the node
   * @throws Refusal INVALID with an option's name, FAILED with the kernel's message
   */
  public static Node open(NodeOptions options, int mtu, NodeStore store) {
    final Optional<NodeRecord> before = store.load();
    final Devices devices = new NetlinkDevices();
    final LocalAddresses addresses = new NetlinkLocalAddresses();
    final DeviceSelection selection = DeviceSelection.parse(options.device());
    requireDevices(devices, selection);
    final AddressingChoice choice = new AddressingChoice(options, addresses, before);
    final NodeAddressing addressing = choice.choose();
    final NodeRecord now = choice.record(addressing);
    if (!before.equals(Optional.of(now))) {
      store.save(now);
    }
    final Node node = new Node(devices, addresses, addressing, selection, mtu);
    node.gateways.own(before);
    node.forwarding.keep();
    return node;
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

  /** Returns the devices by which packets of the network come in. */
  public GuardedDevices guardedDevices() {
    return guardedDevices;
  }

  /** Reads what the node has now. */
  public NodeInventory inventory() {
    return NodeInventory.read(guardedDevices, localAddresses, mtu);
  }

  /** Returns the gateways of workloads. */
  public Gateways gateways() {
    return gateways;
  }

  /** Returns the routes to workloads. */
  public WorkloadRoutes routes() {
    return new NetlinkWorkloadRoutes(forwarding, addressing);
  }

  /** Returns the parameters that forward packets of workloads. */
  public Forwarding forwarding() {
    return forwarding;
  }

  /**
   * Opens what asks workloads for their addresses, in the calling thread's network namespace.
   *
   * @throws OperationException with the kernel's message
   */
  public AddressProbes addressProbes() {
    try {
      return new RawAddressProbes(addressing);
    } catch (BindingsException failure) {
      throw new OperationException("probes of workloads: " + failure.getMessage(), failure);
    }
  }

  /**
   * Subscribes to the changes of the calling thread's network namespace.
   *
   * @throws OperationException with the kernel's message
   */
  public NodeEvents events() {
    try {
      return new NetlinkNodeEvents();
    } catch (BindingsException failure) {
      throw new OperationException("events of the node: " + failure.getMessage(), failure);
    }
  }
}
