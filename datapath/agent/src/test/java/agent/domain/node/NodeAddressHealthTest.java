package agent.domain.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.HealthBoard;
import agent.node.FamilyAddressing;
import agent.node.LocalAddress;
import agent.node.NodeAddressing;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whether the node still has the addresses that the agent uses as its own. */
class NodeAddressHealthTest {
  private static final IpAddress NODE4 = IpAddress.parse("192.0.2.1");
  private static final IpAddress NODE6 = IpAddress.parse("2001:db8::1");

  private final List<LocalAddress> present = new ArrayList<>();

  private static LocalAddress local(IpAddress address) {
    return new LocalAddress(address, 24, "eth0");
  }

  private HealthBoard.Reading read(FamilyAddressing ipv4, FamilyAddressing ipv6) {
    return new NodeAddressHealth(new NodeAddressing(ipv4, ipv6), () -> present).read();
  }

  @Test
  void shouldNameTheAddressThatIsGoneAndItsOption() {
    final var ipv4 = FamilyAddressing.of(NODE4, Prefix.parse("10.5.0.0/24"));
    final var ipv6 = FamilyAddressing.of(NODE6, Prefix.parse("fd00::/96"));
    present.add(local(NODE4));
    present.add(local(NODE6));
    assertEquals(HealthBoard.Reading.ok("the node has its addresses"), read(ipv4, ipv6));
    present.remove(1);
    final String gone6 =
        "no interface has node address 2001:db8::1 any more;"
            + " restart the agent with another --ipv6-node";
    assertEquals(HealthBoard.Reading.stopped(gone6), read(ipv4, ipv6));
    assertEquals(
        HealthBoard.Reading.ok("the node has its addresses"),
        read(ipv4, FamilyAddressing.DISABLED));
    present.add(local(IpAddress.parse("fd00::1")));
    assertEquals(
        HealthBoard.Reading.ok("the node has its addresses"),
        read(ipv4, FamilyAddressing.of(null, Prefix.parse("fd00::/96"))));
    present.clear();
    assertEquals(
        HealthBoard.Reading.stopped(
            gone6.replace("2001:db8::1", "192.0.2.1").replace("ipv6", "ipv4") + "; " + gone6),
        read(ipv4, ipv6));
  }
}
