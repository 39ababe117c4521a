package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.endpoint.model.ModelHost;
import agent.endpoint.model.ModelPacket;
import agent.identity.LabelSet;
import agent.maps.layout.DropReason;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rules that name a protocol without ports, or an ICMP message, and packets of the programs. */
@KernelTest
class ProtocolRulesKernelTest {
  private static final int GRE = 47;
  private static final int NO_MESSAGE = -1;

  private ModelNode node;
  private ProgramVerdicts programs;

  @BeforeEach
  void create() throws IOException {
    node = new ModelNode(2);
    programs = new ProgramVerdicts(node.agent().datapath());
    node.relabel(1, LabelSet.parse("l", List.of("app=one")));
  }

  @AfterEach
  void close() throws IOException {
    programs.close();
    node.close();
  }

  /** Replaces the rules by one for what the first endpoint sends to other nodes. */
  private void allow(List<PortRuleSpec> ports, List<IcmpRuleSpec> icmps) {
    final PeerRuleSpec egress =
        new PeerRuleSpec(
            null, null, null, null, List.of("remote-node"), ports, icmps, null, null, null);
    node.agent().deleteRules();
    node.agent()
        .importRules(
            new RuleSpec(
                TestRules.selector("app=one"), null, List.of(egress), null, null, null, null));
  }

  /** Replaces the rules by one that denies a protocol and allows all else. */
  private void deny(String protocol) {
    final PeerRuleSpec denied =
        new PeerRuleSpec(null, null, null, null, null, protocol(protocol), null, null, null, null);
    node.agent().deleteRules();
    node.agent()
        .importRules(
            new RuleSpec(
                TestRules.selector("app=one"),
                null,
                List.of(PeerRuleSpec.ALL),
                null,
                List.of(denied),
                null,
                null));
  }

  private static List<PortRuleSpec> protocol(String name) {
    return List.of(new PortRuleSpec(List.of(new PortSpec(null, null, name)), null));
  }

  private DropReason sent(boolean isIpv4, int protocol, int message) {
    final ModelHost source = node.endpoint(1, isIpv4);
    final int port = protocol == ModelPacket.TCP || protocol == ModelPacket.UDP ? 4000 : 0;
    final ModelPacket packet =
        new ModelPacket(
            source,
            node.remoteNode(isIpv4),
            protocol,
            port,
            port,
            message,
            protocol == ModelPacket.TCP ? ModelPacket.SYN : 0,
            0,
            0,
            null,
            null);
    final DropReason[] reason = new DropReason[1];
    node.agent()
        .inNamespace(
            () ->
                reason[0] =
                    programs
                        .of(
                            node.program(packet, true),
                            true,
                            node.plainFrame(packet, true),
                            node.ifindex(packet, true),
                            0)
                        .reason());
    return reason[0];
  }

  @ParameterizedTest
  @CsvSource({
    "VRRP, 112, true",
    "VRRP, 112, false",
    "IGMP, 2, true",
    "ICMP, 1, true",
    "ICMPv6, 58, false"
  })
  void shouldAllowOrDenyAllOfAProtocolWithoutPorts(String name, int number, boolean isIpv4) {
    final boolean isIcmp = number == ModelPacket.ICMP || number == ModelPacket.ICMP6;
    final int message = isIcmp ? isIpv4 ? 13 : 139 : NO_MESSAGE;
    allow(tcp(), null);
    assertEquals(DropReason.POLICY_DENIED, sent(isIpv4, number, message), "before");
    allow(protocol(name), null);
    assertEquals(DropReason.NONE, sent(isIpv4, number, message));
    assertEquals(DropReason.POLICY_DENIED, sent(isIpv4, GRE, NO_MESSAGE));
    assertEquals(DropReason.POLICY_DENIED, sent(isIpv4, ModelPacket.UDP, NO_MESSAGE));
    assertEquals(DropReason.POLICY_DENIED, sent(isIpv4, ModelPacket.TCP, NO_MESSAGE));
    deny(name);
    assertEquals(DropReason.POLICY_DENY_RULE, sent(isIpv4, number, message));
    assertEquals(DropReason.NONE, sent(isIpv4, GRE, NO_MESSAGE));
    assertEquals(DropReason.NONE, sent(isIpv4, ModelPacket.UDP, NO_MESSAGE));
  }

  private static List<PortRuleSpec> tcp() {
    return List.of(new PortRuleSpec(List.of(new PortSpec("0", null, "TCP")), null));
  }

  @ParameterizedTest
  @CsvSource({
    "IPv4, EchoRequest, 8, 13",
    "IPv4, Timestamp, 13, 8",
    "IPv6, EchoRequest, 128, 139",
    "IPv6, ICMPNodeInformationQuery, 139, 128"
  })
  void shouldAllowAMessageByItsName(String family, String name, int type, int other) {
    final boolean isIpv4 = family.equals("IPv4");
    final int protocol = isIpv4 ? ModelPacket.ICMP : ModelPacket.ICMP6;
    allow(null, List.of(new IcmpRuleSpec(List.of(new IcmpFieldSpec(family, name)))));
    assertEquals(DropReason.NONE, sent(isIpv4, protocol, type));
    assertEquals(DropReason.POLICY_DENIED, sent(isIpv4, protocol, other));
    assertEquals(DropReason.POLICY_DENIED, sent(!isIpv4, isIpv4 ? 58 : 1, isIpv4 ? 128 : 8));
  }
}
