package agent.endpoint.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointAddressing;
import agent.ipam.AddressFamily;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.Ipam.AllocatedAddress;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a request says of one family is checked, claimed and undone by itself. */
class AddressClaimsTest {
  private static final int WEB = 7;
  private static final int DB = 8;

  private final Ipam ipam =
      Ipam.open(
          new IpamContext()
              .pool(
                  new AddressPool(
                      AddressPool.DEFAULT,
                      List.of(Prefix.parse("10.5.0.0/24"), Prefix.parse("f00d::5:0:0/112"))))
              .pool(
                  new AddressPool(
                      "blue",
                      List.of(Prefix.parse("10.6.0.0/24"), Prefix.parse("f00d::6:0:0/112"))))
              .conclude());
  private final AddressClaims claims = new AddressClaims(ipam);

  private Lease leased(boolean ipv4, String pool) {
    final Ipam.AddressAllocation allocated =
        ipam.allocate(ipv4 ? AddressFamily.IPV4 : AddressFamily.IPV6, "cni", pool, true);
    final AllocatedAddress address = (ipv4 ? allocated.ipv4() : allocated.ipv6()).orElseThrow();
    return ipam.find(address.address()).orElseThrow();
  }

  private static EndpointAddressing named(
      boolean ipv4, IpAddress address, String timer, String pool) {
    return ipv4
        ? new EndpointAddressing(address, timer, pool, null, null, null)
        : new EndpointAddressing(null, null, null, address, timer, pool);
  }

  private static String field(boolean ipv4, String suffix) {
    return "addressing." + (ipv4 ? "ipv4" : "ipv6") + suffix;
  }

  private void assertInvalid(String field, EndpointAddressing named) {
    final Refusal refusal = assertThrows(Refusal.class, () -> claims.choose(WEB, named));
    assertEquals(Refusal.Kind.INVALID, refusal.kind(), refusal.getMessage());
    assertEquals(field, refusal.field(), refusal.getMessage());
  }

  @Test
  void shouldReadEachFieldOfEachFamily() {
    assertEquals(
        new EndpointAddressing(
            IpAddress.parse("10.5.0.9"), "t4", "p4", IpAddress.parse("f00d::5:0:9"), "t6", "p6"),
        AddressClaims.read(
            new AddressingRequest("10.5.0.9", "t4", "p4", "f00d::5:0:9", "t6", "p6")));
  }

  @Test
  void shouldClaimWhatIsNamedOfBothFamiliesAndUndoIt() {
    final Lease ipv4 = leased(true, "blue");
    final Lease ipv6 = leased(false, AddressPool.DEFAULT);
    final EndpointAddressing named =
        new EndpointAddressing(
            ipv4.address(),
            ipv4.expirationUuid(),
            "blue",
            ipv6.address(),
            ipv6.expirationUuid(),
            AddressPool.DEFAULT);
    assertEquals(named, claims.choose(WEB, named).value());
    assertEquals(List.of(ipv4, ipv6), claims.adoptable(named));
    claims.claim(WEB, named);
    assertEquals(WEB, ipam.find(ipv4.address()).orElseThrow().endpointId());
    assertEquals(WEB, ipam.find(ipv6.address()).orElseThrow().endpointId());
    assertEquals(List.of(), claims.adoptable(named));
    claims.undo(WEB, List.of(ipv4, ipv6));
    assertEquals(ipv4, ipam.find(ipv4.address()).orElseThrow());
    assertEquals(ipv6, ipam.find(ipv6.address()).orElseThrow());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldClaimOneFamilyAlone(boolean ipv4) {
    final Lease lease = leased(ipv4, "blue");
    final EndpointAddressing named = named(ipv4, lease.address(), lease.expirationUuid(), "blue");
    assertEquals(List.of(lease), claims.adoptable(named));
    assertEquals(named, claims.choose(WEB, named).value());
    claims.claim(WEB, named);
    assertEquals(List.of(lease.address()), ipam.releaseEndpoint(WEB));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRefuseATimerThatIsNotThatOfTheAddress(boolean ipv4) {
    final Lease lease = leased(ipv4, AddressPool.DEFAULT);
    final Lease other = leased(!ipv4, AddressPool.DEFAULT);
    assertInvalid(field(ipv4, ""), named(ipv4, lease.address(), other.expirationUuid(), null));
    assertInvalid(field(ipv4, "-expiration-uuid"), named(ipv4, null, "t", null));
    final IpAddress free = IpAddress.parse(ipv4 ? "10.5.0.99" : "f00d::5:0:99");
    assertInvalid(field(ipv4, "-expiration-uuid"), named(ipv4, free, "t", null));
    assertTrue(ipam.leases().stream().allMatch(known -> known.endpointId() == 0));
  }

  /** The other family is named and has a lease with a timer. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldNotTakeTheOtherFamilyForTheOwnerOfATimer(boolean ipv4) {
    final Lease other = leased(!ipv4, AddressPool.DEFAULT);
    final IpAddress address = other.address();
    assertInvalid(
        field(ipv4, "-expiration-uuid"),
        ipv4
            ? new EndpointAddressing(null, "t", null, address, other.expirationUuid(), null)
            : new EndpointAddressing(address, other.expirationUuid(), null, null, "t", null));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRefuseWhatAnotherEndpointHasAndAnotherPool(boolean ipv4) {
    final Lease lease = leased(ipv4, "blue");
    assertInvalid(field(ipv4, ""), named(ipv4, lease.address(), null, AddressPool.DEFAULT));
    final EndpointAddressing named = named(ipv4, lease.address(), null, null);
    claims.claim(DB, named);
    assertEquals(List.of(), claims.adoptable(named));
    final Refusal refusal = assertThrows(Refusal.class, () -> claims.choose(WEB, named));
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    assertEquals(field(ipv4, ""), refusal.field());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldAllocateFromThePoolThatEitherFamilyNames(boolean ipv4) {
    final EndpointAddressing chosen = claims.choose(WEB, named(ipv4, null, null, "blue")).value();
    assertEquals("blue", chosen.ipv4PoolName());
    assertEquals("blue", chosen.ipv6PoolName());
    assertTrue(chosen.ipv4().isIpv4());
    assertEquals(WEB, ipam.find(chosen.ipv4()).orElseThrow().endpointId());
    assertEquals(WEB, ipam.find(chosen.ipv6()).orElseThrow().endpointId());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldCompareEachFieldOfAChange(boolean ipv4) {
    final EndpointAddressing before =
        new EndpointAddressing(
            IpAddress.parse("10.5.0.9"), "t4", "p4", IpAddress.parse("f00d::5:0:9"), "t6", "p6");
    AddressClaims.checkSame(before, before);
    final IpAddress own = ipv4 ? before.ipv4() : before.ipv6();
    final IpAddress other = IpAddress.parse(ipv4 ? "10.5.0.10" : "f00d::5:0:10");
    assertChanged(field(ipv4, ""), before, named(ipv4, other, null, null));
    final String timer = ipv4 ? "t6" : "t4";
    assertChanged(field(ipv4, "-expiration-uuid"), before, named(ipv4, own, timer, null));
    final String pool = ipv4 ? "p6" : "p4";
    assertChanged(field(ipv4, "-pool-name"), before, named(ipv4, own, null, pool));
  }

  private static void assertChanged(
      String field, EndpointAddressing before, EndpointAddressing named) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> AddressClaims.checkSame(before, named));
    assertEquals(field, refusal.field());
  }

  @Test
  void shouldReadAnEmptyFieldAsAbsent() {
    assertEquals(
        new EndpointAddressing(null, null, null, null, null, null),
        AddressClaims.read(new AddressingRequest("", "", "", "", "", "")));
  }
}
