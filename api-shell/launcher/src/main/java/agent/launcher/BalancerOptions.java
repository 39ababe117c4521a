package agent.launcher;

import agent.datapath.manager.spec.Balancing;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.node.NodeAddressing;
import agent.types.AddressPair;
import java.util.Map;

/** Converts {@code --lb} to what the datapath needs of it. */
final class BalancerOptions {
  private final OptionValues options;

  BalancerOptions(OptionValues options) {
    this.options = options;
  }

  /**
   * Returns the load balancer; its outer sources are the addresses of the device, or those of the
   * node where it has none.
   *
   * @param addresses of devices by their names
   * @throws OptionException where services are off
   */
  Balancing balancing(NodeAddressing addressing, Map<String, AddressPair> addresses) {
    final String device = options.text("lb");
    if (device.isEmpty()) {
      return Balancing.NONE;
    }
    if (options.bool("disable-orch-services")) {
      throw new OptionException("--lb " + device + ": has no effect with --disable-orch-services");
    }
    final AddressPair own = addresses.getOrDefault(device, AddressPair.NONE);
    return new Balancing(
        device,
        new AddressPair(
            own.ipv4() == null ? addressing.ipv4().node() : own.ipv4(),
            own.ipv6() == null ? addressing.ipv6().node() : own.ipv6()));
  }
}
