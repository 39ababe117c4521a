package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Nftables;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What on a node needs the stack, as the kernel has it. */
@KernelTest
class NetfilterProbeKernelTest {
  private final NetfilterProbe uses = new NetfilterProbe();
  private NetworkNamespace node;

  @BeforeEach
  void create() {
    node = NetworkNamespace.create("uses");
    node.ip(
        "link add net0 type veth peer name net1",
        "link set net0 up",
        "address add 192.0.2.1/24 dev net0",
        "route add default via 192.0.2.254 dev net0");
  }

  @AfterEach
  void remove() {
    node.close();
  }

  private void assertFound(String... expected) throws Exception {
    assertEquals(List.of(expected), node.run(uses::read));
  }

  @Test
  void shouldFindNothingOnANodeWithPlainRoutes() throws Exception {
    assertFound();
  }

  @Test
  void shouldFindChainsThatForwardedPacketsMeet() throws Exception {
    final Nftables table = Nftables.create(node, Nftables.INET, "filter");
    table.filter("forward", Nftables.FORWARD, false).filter("input", Nftables.LOCAL_IN, true);
    assertFound(); // without a rule, and not for forwarded packets
    table.rule("forward", Nftables.state(Nftables.INVALID), Nftables.drop());
    assertFound("nftables chain 'inet filter forward' has rules");
    table.delete();
    assertFound();
    final Nftables strict = Nftables.create(node, Nftables.IPV6, "strict");
    strict.filter("pre", Nftables.PREROUTING, true);
    assertFound("nftables chain 'ip6 strict pre' drops by default");
    final Nftables nat = Nftables.create(node, Nftables.IPV4, "nat");
    nat.nat("post", Nftables.POSTROUTING).rule("post", Nftables.masquerade());
    assertFound(
        "nftables chain 'ip6 strict pre' drops by default",
        "nftables chain 'ip nat post' has rules");
    strict.delete();
    nat.delete();
    assertFound();
  }

  @Test
  void shouldFindRulesThatChooseRoutes() throws Exception {
    node.ip("rule add fwmark 7 lookup 100 priority 77");
    node.ip("-6 rule add from fd00::/64 lookup 100 priority 78");
    assertFound(
        "an IPv4 rule of priority 77 selects routes", "an IPv6 rule of priority 78 selects routes");
    node.ip("rule del priority 77");
    node.ip("-6 rule del priority 78");
    assertFound();
    node.ip("rule del priority 32766", "rule add from 192.0.2.0/24 lookup main priority 32766");
    assertFound("an IPv4 rule of priority 32766 selects routes");
  }

  @Test
  void shouldFindRoutesWithAnMtuThatProgramsDoNotSee() throws Exception {
    node.ip(
        "route add 198.51.100.0/24 via 192.0.2.254 mtu 1400",
        "route add 198.51.101.0/24 via 192.0.2.254 mtu lock 1400",
        "route add 198.51.102.0/24 via 192.0.2.254 table 100 mtu 1400",
        "route add 2001:db8::/64 dev net0 mtu 1300");
    assertFound(
        "the route to 198.51.100.0/24 has its own MTU",
        "the route to 2001:db8::/64 has its own MTU");
  }

  @Test
  void shouldFindIpsecPolicies() throws Exception {
    node.ip("xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir fwd tmpl proto esp mode tunnel");
    assertFound("1 IPsec policies");
  }
}
