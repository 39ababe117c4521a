package agent.node;

import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * This node as the agent found and prepared it: its addresses are chosen, it owns the workloads'
 * gateways, and its stack forwards. Nothing of that is taken back when the agent ends, because
 * workloads go on without it. Every method works in the network namespace of its calling thread.
 */
public final class Node {
  private static final String LOOPBACK = "lo";

  private final IpRunner ip;
  private final Sysctls sysctls;
  private final LocalAddresses localAddresses;
  private final NodeAddressing addressing;

  private Node(
      IpRunner ip, Sysctls sysctls, LocalAddresses localAddresses, NodeAddressing addressing) {
    this.ip = ip;
    this.sysctls = sysctls;
    this.localAddresses = localAddresses;
    this.addressing = addressing;
  }

  /**
   * Chooses the node's addresses, remembers them, and prepares the stack.
   *
   * @param options the daemon's options
   * @param store what was chosen before, and what is now
   * @return the node
   * @throws Refusal INVALID with an option's name, FAILED with the kernel's message
   */
  public static Node open(NodeOptions options, NodeStore store) {
    return open(options, store, IpProcess.find(), Sysctls.ofKernel());
  }

  /** As {@link #open(NodeOptions, NodeStore)}, with other hands. */
  static Node open(NodeOptions options, NodeStore store, IpRunner ip, Sysctls sysctls) {
    final Optional<NodeRecord> before = store.load();
    final LocalAddresses addresses = new IpLocalAddresses(ip);
    if (options.namesDevice()) {
      final String device = InterfaceName.check("device", options.device());
      if (new KernelDevices(new IpDevices(ip)).byName(device).isEmpty()) {
        throw Refusal.invalid("device", "there is no interface '" + device + "'");
      }
    }
    final NodeAddressing addressing = new AddressingChoice(options, addresses, before).choose();
    final NodeRecord now = remembered(addressing, before);
    if (!before.equals(Optional.of(now))) {
      store.save(now);
    }
    final Node node = new Node(ip, sysctls, addresses, addressing);
    node.ownGateways(addresses.all(), before);
    node.forward();
    return node;
  }

  /** A family that is switched off for a while keeps the range it had. */
  private static NodeRecord remembered(NodeAddressing addressing, Optional<NodeRecord> before) {
    return new NodeRecord(
        addressing.ipv4().enabled()
            ? addressing.ipv4().range()
            : before.map(NodeRecord::ipv4Range).orElse(null),
        addressing.ipv6().enabled()
            ? addressing.ipv6().range()
            : before.map(NodeRecord::ipv6Range).orElse(null));
  }

  private void ownGateways(List<LocalAddress> present, Optional<NodeRecord> before) {
    final List<String> commands = new ArrayList<>();
    commands.add("link set dev " + LOOPBACK + " up");
    for (final FamilyAddressing family : List.of(addressing.ipv4(), addressing.ipv6())) {
      if (family.enabled() && !has(present, family.gateway())) {
        commands.add("address add " + onLoopback(family.gateway()));
      }
    }
    before.ifPresent(
        record -> {
          formerGateway(record.ipv4Range(), addressing.ipv4(), present, commands);
          formerGateway(record.ipv6Range(), addressing.ipv6(), present, commands);
        });
    final List<IpRunner.Failure> failures = ip.batch(commands);
    if (!failures.isEmpty()) {
      throw Refusal.failed("", failures.getFirst().toString());
    }
  }

  private List<IpAddress> keepGateways(Set<IpAddress> present) {
    final List<IpAddress> missing =
        Stream.of(addressing.ipv4(), addressing.ipv6())
            .filter(FamilyAddressing::enabled)
            .map(FamilyAddressing::gateway)
            .filter(gateway -> !present.contains(gateway))
            .toList();
    if (!missing.isEmpty()) {
      ownGateways(localAddresses.all(), Optional.empty());
    }
    return missing;
  }

  private static void formerGateway(
      Prefix range, FamilyAddressing now, List<LocalAddress> present, List<String> commands) {
    if (range == null || !now.enabled() || range.equals(now.range())) {
      return;
    }
    final IpAddress gateway = range.address().plus(1);
    final LocalAddress added = new LocalAddress(gateway, gateway.bitLength(), LOOPBACK);
    if (present.contains(added)) {
      commands.add("address del " + onLoopback(gateway));
    }
  }

  private static boolean has(List<LocalAddress> present, IpAddress address) {
    return present.stream().anyMatch(local -> local.address().equals(address));
  }

  private static String onLoopback(IpAddress gateway) {
    final String address = gateway + "/" + gateway.bitLength() + " dev " + LOOPBACK;
    return gateway.isIpv6() ? address + " nodad" : address;
  }

  private void forward() {
    if (addressing.ipv4().enabled()) {
      sysctls.set("1", "ipv4", "ip_forward");
    }
    if (addressing.ipv6().enabled()
        && !sysctls.get("ipv6", "conf", "all", "forwarding").equals("1")) {
      keepRouters();
      sysctls.set("1", "ipv6", "conf", "all", "forwarding");
    }
  }

  /**
   * A device that takes its routes from router advertisements would stop doing so once the node
   * forwards, unless it is told to go on ({@code accept_ra} 2, ip-sysctl.rst).
   */
  private void keepRouters() {
    for (final String device : sysctls.list("ipv6", "conf")) {
      if (!device.equals("all")
          && !device.equals("default")
          && sysctls.get("ipv6", "conf", device, "accept_ra").equals("1")) {
        sysctls.set("2", "ipv6", "conf", device, "accept_ra");
      }
    }
  }

  /** The node's addresses and ranges. */
  public NodeAddressing addressing() {
    return addressing;
  }

  /** What the node is addressed by, read anew at each call. */
  public LocalAddresses localAddresses() {
    return localAddresses;
  }

  /** The node's devices, read anew at each call. */
  public Devices devices() {
    return new KernelDevices(new IpDevices(ip));
  }

  /** The workloads' gateways. */
  public Gateways gateways() {
    return this::keepGateways;
  }

  /** Routes to workloads. */
  public WorkloadRoutes routes() {
    return new IpWorkloadRoutes(ip, sysctls, addressing);
  }
}
