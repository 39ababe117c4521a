package agent.domain.node;

import agent.datapath.spec.Masquerading;
import agent.datapath.spec.SocketPorts;
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

/**
 * The daemon's options of masquerading, and of the translation to IPv4, with the names and values
 * of the contract.
 *
 * @param isOn {@code --masquerade}
 * @param installsRules {@code --install-iptables-rules}: whether rules masquerade where the stack
 *     routes flows
 * @param areFirst {@code --prepend-iptables-chains}: whether those rules come before others
 * @param nativeRouting4 {@code --ipv4-native-routing-cidr}: a prefix, or {@code auto}
 * @param nativeRouting6 {@code --ipv6-native-routing-cidr}: a prefix, or {@code auto}
 * @param endpointSharePercent {@code --masquerade-endpoint-share}
 * @param nat46Range {@code --nat46-range}; null: no address stands for an IPv4 address
 */
public record MasqueradeOptions(
    boolean isOn,
    boolean installsRules,
    boolean areFirst,
    String nativeRouting4,
    String nativeRouting6,
    int endpointSharePercent,
    Prefix nat46Range) {
  /** Flows of workloads keep their addresses. */
  public static final MasqueradeOptions OFF =
      new MasqueradeOptions(
          false,
          false,
          false,
          NodeOptions.AUTO,
          NodeOptions.AUTO,
          Masquerading.ENDPOINT_SHARE.standard(),
          null);

  static final String PORT_RANGE = "ip_local_port_range";

  /**
   * Returns what the programs masquerade: where it is off, no flow of a workload.
   *
   * @param addresses those of devices by their names
   * @throws Refusal INVALID where a prefix is none of its family
   */
  public Masquerading masquerading(Map<String, AddressPair> addresses, NodeAddressing addressing) {
    return new Masquerading(
        addresses,
        isOn ? native4(addressing) : Prefix.ALL_IPV4,
        isOn ? native6(addressing) : Prefix.ALL_IPV6,
        socketPorts(),
        nat46Range,
        endpointSharePercent);
  }

  /** Returns whether rules of the agent masquerade where the stack routes flows. */
  boolean wantsRules() {
    return isOn && installsRules;
  }

  /**
   * Returns the rules that masquerade where the stack routes flows.
   *
   * @throws Refusal INVALID where a prefix is none of its family
   */
  public MasqueradeRules rules(NodeAddressing addressing) {
    final List<MasqueradedRange> ranges = new ArrayList<>();
    add(ranges, addressing.ipv4(), native4(addressing));
    add(ranges, addressing.ipv6(), native6(addressing));
    final SocketPorts ports = socketPorts();
    return new MasqueradeRules(
        ranges,
        areFirst,
        MasqueradePorts.beside(ports.first(), ports.count(), endpointSharePercent));
  }

  /** Returns what the kernel takes for sockets of the node now. */
  static SocketPorts socketPorts() {
    return SocketPorts.parse(Sysctls.ofKernel().get("ipv4", PORT_RANGE));
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
    return nativePrefix("ipv4-native-routing-cidr", nativeRouting4, addressing.ipv4(), true);
  }

  /** Returns the IPv6 prefix to which packets are not masqueraded; null without IPv6. */
  private Prefix native6(NodeAddressing addressing) {
    return nativePrefix("ipv6-native-routing-cidr", nativeRouting6, addressing.ipv6(), false);
  }

  private static Prefix nativePrefix(
      String option, String text, FamilyAddressing family, boolean isIpv4) {
    if (!family.enabled()) {
      return null;
    }
    if (text.equals(NodeOptions.AUTO)) {
      return family.range();
    }
    final Prefix prefix = Prefix.parse(option, text);
    if (prefix.address().isIpv4() != isIpv4) {
      throw Refusal.invalid(option, "'" + text + "' belongs to the other address family");
    }
    return prefix;
  }
}
