package agent.launcher;

import agent.datapath.manager.spec.Masquerading;
import agent.datapath.manager.spec.SocketPorts;
import agent.launcher.options.Nat46Range;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.node.NodeOptions;
import agent.node.Sysctls;
import agent.node.netfilter.MasqueradePorts;
import agent.node.netfilter.MasqueradeRules;
import agent.node.netfilter.MasqueradedRange;
import agent.types.AddressPair;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The options of masquerading, and of the translation to IPv4. */
final class MasqueradeOptions {
  static final String PORT_RANGE = "ip_local_port_range";

  private final OptionValues options;

  MasqueradeOptions(OptionValues options) {
    this.options = options;
  }

  boolean isOn() {
    return options.bool("masquerade");
  }

  /** Returns what the programs masquerade: without the option, no flow of a workload. */
  Masquerading masquerading(Map<String, AddressPair> addresses, NodeAddressing addressing) {
    final Prefix nat46 = Nat46Range.of(options);
    final SocketPorts ports = socketPorts();
    final int share = share();
    return isOn()
        ? new Masquerading(addresses, native4(addressing), native6(addressing), ports, nat46, share)
        : new Masquerading(addresses, Prefix.ALL_IPV4, Prefix.ALL_IPV6, ports, nat46, share);
  }

  /** Whether rules of the agent masquerade where the stack routes flows. */
  boolean installsRules() {
    return isOn() && options.bool("install-iptables-rules");
  }

  MasqueradeRules rules(NodeAddressing addressing) {
    final List<MasqueradedRange> ranges = new ArrayList<>();
    add(ranges, addressing.ipv4(), native4(addressing));
    add(ranges, addressing.ipv6(), native6(addressing));
    final SocketPorts ports = socketPorts();
    return new MasqueradeRules(
        ranges,
        options.bool("prepend-iptables-chains"),
        MasqueradePorts.beside(ports.first(), ports.count(), share()));
  }

  /** Returns what the kernel takes for sockets of the node now. */
  static SocketPorts socketPorts() {
    return SocketPorts.parse(Sysctls.ofKernel().get("ipv4", PORT_RANGE));
  }

  private int share() {
    return options.number(Masquerading.ENDPOINT_SHARE);
  }

  private static void add(
      List<MasqueradedRange> ranges, FamilyAddressing family, Prefix nativeRouting) {
    if (family.enabled()) {
      ranges.add(
          MasqueradedRange.of(
              family.range(), List.of(family.gateway(), family.node()), nativeRouting));
    }
  }

  /** Returns the IPv4 prefix to which packets are not masqueraded; null without IPv4. */
  private Prefix native4(NodeAddressing addressing) {
    return nativePrefix("ipv4-native-routing-cidr", addressing.ipv4(), true);
  }

  /** Returns the IPv6 prefix to which packets are not masqueraded; null without IPv6. */
  private Prefix native6(NodeAddressing addressing) {
    return nativePrefix("ipv6-native-routing-cidr", addressing.ipv6(), false);
  }

  private Prefix nativePrefix(String option, FamilyAddressing family, boolean isIpv4) {
    final String text = options.text(option);
    if (!family.enabled()) {
      return null;
    }
    if (text.equals(NodeOptions.AUTO)) {
      return family.range();
    }
    final Prefix prefix = parsed(option, text);
    if (prefix.address().isIpv4() != isIpv4) {
      throw new OptionException(
          "--" + option + ": '" + text + "' belongs to the other address family");
    }
    return prefix;
  }

  private static Prefix parsed(String option, String text) {
    try {
      return Prefix.parse(option, text);
    } catch (Refusal e) {
      throw new OptionException("--" + e.getMessage());
    }
  }
}
