package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.ipam.Lease;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LeaseEncoderTest {
  private static final FamilyAddressing IPV4 =
      FamilyAddressing.of(null, Prefix.parse("10.5.0.0/24"));
  private static final FamilyAddressing IPV6 =
      FamilyAddressing.of(null, Prefix.parse("f00d::5:0:0/96"));

  private static Lease lease(String address, String owner, int endpointId) {
    return new Lease(IpAddress.parse(address), "default", owner, endpointId, null, null);
  }

  @Test
  void shouldShowTheAddressesInOrderAndWhoHasThem() {
    final List<Lease> leases =
        List.of(
            lease("f00d::5:0:7", "", 7),
            lease("10.5.0.9", "me", 9),
            lease("10.5.0.2", "", 0),
            lease("10.5.0.3", "you", 0));
    final Map<String, Object> shown = LeaseEncoder.encode(leases, new NodeAddressing(IPV4, IPV6));
    assertEquals(List.of("10.5.0.2", "10.5.0.3", "10.5.0.9"), shown.get("ipv4"));
    assertEquals(List.of("f00d::5:0:7"), shown.get("ipv6"));
    assertEquals(
        "{10.5.0.2=, 10.5.0.3=you, 10.5.0.9=me, f00d::5:0:7=endpoint 7}",
        shown.get("allocations").toString());
    assertEquals(
        "IPv4: 3 allocated from 10.5.0.0/24, IPv6: 1 allocated from f00d::5:0:0/96",
        shown.get("status"));
  }

  @Test
  void shouldSayWhichFamilyIsDisabled() {
    assertEquals(
        "IPv4: 0 allocated from 10.5.0.0/24, IPv6: disabled",
        LeaseEncoder.encode(List.of(), new NodeAddressing(IPV4, FamilyAddressing.DISABLED))
            .get("status"));
    assertEquals(
        "IPv4: disabled, IPv6: 0 allocated from f00d::5:0:0/96",
        LeaseEncoder.encode(List.of(), new NodeAddressing(FamilyAddressing.DISABLED, IPV6))
            .get("status"));
  }
}
