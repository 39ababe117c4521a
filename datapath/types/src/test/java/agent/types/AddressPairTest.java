package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class AddressPairTest {
  @Test
  void shouldGiveEachAddressAsNumbers() {
    final AddressPair both =
        new AddressPair(IpAddress.parse("192.0.2.7"), IpAddress.parse("2001:db8:0:1:8000::9"));
    assertEquals(0xc0000207, both.ipv4Number());
    assertEquals(0x20010db800000001L, both.ipv6High());
    assertEquals(0x8000000000000009L, both.ipv6Low());
  }

  @Test
  void shouldGiveZeroForAnAddressThatItDoesNotHave() {
    final AddressPair ipv6 = new AddressPair(null, IpAddress.parse("2001:db8::7"));
    assertEquals(0, ipv6.ipv4Number());
    assertEquals(7, ipv6.ipv6Low());
    for (final AddressPair none :
        new AddressPair[] {AddressPair.NONE, new AddressPair(IpAddress.parse("192.0.2.7"), null)}) {
      assertEquals(0, none.ipv6High());
      assertEquals(0, none.ipv6Low());
    }
    assertEquals(0, AddressPair.NONE.ipv4Number());
  }
}
