package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointSpec;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointOption;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.util.List;
import java.util.Set;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** What an entry of the map {@code endpoints} has of an endpoint, and when two are alike. */
class EndpointEntriesTest {
  private static final int ID = 12;
  private static final IpAddress IPV4 = IpAddress.parse("10.77.0.9");
  private static final IpAddress IPV6 = IpAddress.parse("fd77::1:9");
  private static final MacAddress MAC = MacAddress.parse("02:00:00:00:00:aa");
  private static final MacAddress HOST_MAC = MacAddress.parse("02:00:00:00:01:bb");
  private static final EndpointEntry ENTRY = entry(IPV4, IPV6);

  private final EndpointEntryFlyweight found =
      new EndpointEntryFlyweight()
          .wrap(new UnsafeBuffer(new byte[EndpointEntryFlyweight.LENGTH]), 0)
          .clear();

  private static EndpointEntry entry(IpAddress ipv4, IpAddress ipv6) {
    return EndpointEntry.of(
        new EndpointSpec(ID, 7, "lxc7", ipv4, ipv6, MAC, HOST_MAC, 300, 5, 2), 41);
  }

  /** Entries that differ from {@link #ENTRY} in one property that is not of its policy. */
  private static List<EndpointEntry> others() {
    final IpAddress high = IpAddress.parse("fd78::1:9");
    final IpAddress low = IpAddress.parse("fd77::1:8");
    return List.of(
        entry(IpAddress.parse("10.77.0.8"), IPV6),
        entry(null, IPV6),
        entry(IPV4, high),
        entry(IPV4, low),
        entry(IPV4, null),
        EndpointEntry.of(new EndpointSpec(ID, 8, "lxc7", IPV4, IPV6, MAC, HOST_MAC, 300, 5, 2), 41),
        EndpointEntry.of(
            new EndpointSpec(ID, 7, "lxc7", IPV4, IPV6, HOST_MAC, HOST_MAC, 300, 5, 2), 41),
        EndpointEntry.of(new EndpointSpec(ID, 7, "lxc7", IPV4, IPV6, MAC, MAC, 300, 5, 2), 41));
  }

  private static EndpointEntry entry(int identity, int options, int aggregation, int policyId) {
    return EndpointEntry.of(
        new EndpointSpec(ID, 7, "lxc7", IPV4, IPV6, MAC, HOST_MAC, identity, options, aggregation),
        policyId);
  }

  private EndpointEntryFlyweight write(EndpointEntry entry) {
    entry.copyTo(found.clear());
    return found;
  }

  @Test
  void shouldHaveWhatTheEndpointHas() {
    write(ENTRY);
    assertEquals(7, found.ifindex());
    assertEquals(5, found.options());
    assertEquals(2, found.aggregation());
    assertEquals(MAC.bits(), found.mac());
    assertEquals(HOST_MAC.bits(), found.hostMac());
    assertTrue(found.hasIpv4() && found.hasIpv6());
    assertEquals((int) IPV4.low(), found.ipv4());
    assertEquals(IPV6.high(), found.ipv6High());
    assertEquals(IPV6.low(), found.ipv6Low());
    assertEquals(300, found.identity());
    assertEquals(41, found.policyId());
  }

  @Test
  void shouldHaveNoAddressOfAFamilyThatTheEndpointLacks() {
    write(entry(IPV4, null));
    assertTrue(found.hasIpv4());
    assertFalse(found.hasIpv6());
    write(entry(null, IPV6));
    assertFalse(found.hasIpv4());
    assertTrue(found.hasIpv6());
  }

  /** The option of the node is not one of the endpoint. */
  @Test
  void shouldReadWhatItWrote() {
    for (final EndpointEntry entry : others()) {
      write(entry).options(5 | EndpointOption.HOST_ROUTING.number());
      assertEquals(entry, EndpointEntry.of(found));
    }
    assertEquals(ENTRY, EndpointEntry.of(write(ENTRY)));
  }

  @Test
  void shouldTellAnotherInterfaceOrAddressFromAnotherPolicy() {
    for (final EndpointEntry other : others()) {
      assertFalse(ENTRY.isAlike(other), other::toString);
    }
    assertTrue(ENTRY.isAlike(ENTRY.with(301, 42)));
    assertTrue(ENTRY.isAlike(entry(300, 6, 1, 41)));
    assertEquals(entry(301, 5, 2, 42), ENTRY.with(301, 42));
  }

  @Test
  void shouldHaveEitherOfItsAddresses() {
    final IpAddress other = IpAddress.parse("10.77.0.8");
    assertTrue(ENTRY.hasOneOf(Set.of(other, IPV4)));
    assertTrue(ENTRY.hasOneOf(Set.of(other, IPV6)));
    assertFalse(ENTRY.hasOneOf(Set.of(other, IpAddress.parse("fd77::1:8"))));
    assertFalse(ENTRY.hasOneOf(Set.of()));
    final Set<IpAddress> unspecified = Set.of(IpAddress.parse("0.0.0.0"), IpAddress.parse("::"));
    assertFalse(entry(IPV4, null).hasOneOf(unspecified), "a family that it has not");
    assertFalse(entry(null, IPV6).hasOneOf(unspecified), "a family that it has not");
  }

  @Test
  void shouldKeepItsAddressesWithAnotherPolicy() {
    for (final boolean isIpv4 : new boolean[] {true, false}) {
      final IpAddress ipv4 = isIpv4 ? IPV4 : null;
      final IpAddress ipv6 = isIpv4 ? null : IPV6;
      assertEquals(
          EndpointEntry.of(
              new EndpointSpec(ID, 7, "lxc7", ipv4, ipv6, MAC, HOST_MAC, 301, 5, 2), 42),
          entry(ipv4, ipv6).with(301, 42));
    }
  }
}
