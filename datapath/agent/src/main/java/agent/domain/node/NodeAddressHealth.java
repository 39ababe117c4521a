package agent.domain.node;

import agent.conductor.HealthBoard;
import agent.node.FamilyAddressing;
import agent.node.LocalAddress;
import agent.node.NodeAddressing;
import agent.types.IpAddress;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Stopped while no interface has an address of the node that the agent has chosen or was given. */
public final class NodeAddressHealth implements HealthBoard.Probe {
  /** Name of the module. */
  public static final String MODULE = "node-addresses";

  private final NodeAddressing addressing;
  private final Supplier<List<LocalAddress>> present;

  /**
   * Creates the probe.
   *
   * @param addressing the addresses of the node, as the start chose them
   * @param present reads the addresses of all devices as they are now
   */
  public NodeAddressHealth(NodeAddressing addressing, Supplier<List<LocalAddress>> present) {
    this.addressing = addressing;
    this.present = present;
  }

  @Override
  public HealthBoard.Reading read() {
    final List<IpAddress> now = present.get().stream().map(LocalAddress::address).toList();
    final List<String> gone =
        Stream.of(
                gone("ipv4-node", addressing.ipv4(), now),
                gone("ipv6-node", addressing.ipv6(), now))
            .filter(text -> !text.isEmpty())
            .toList();
    return gone.isEmpty()
        ? HealthBoard.Reading.ok("the node has its addresses")
        : HealthBoard.Reading.stopped(String.join("; ", gone));
  }

  private static String gone(String option, FamilyAddressing family, List<IpAddress> now) {
    return !family.enabled() || family.node() == null || now.contains(family.node())
        ? ""
        : "no interface has node address "
            + family.node()
            + " any more; restart the agent with another --"
            + option;
  }
}
