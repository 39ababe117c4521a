package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LocalAddressesTest {
  @Test
  void shouldIncludeEveryAddressWhosePacketsItsSocketsReceive() {
    assertEquals(
        List.of(
            "169.254.20.10/32",
            "169.254.255.255/32",
            "192.0.2.5/32",
            "192.0.2.127/32",
            "198.51.100.1/32"),
        texts(
            List.of(
                local("192.0.2.5", 25, "eth0"),
                local("169.254.20.10", 16, "dns0"),
                local("198.51.100.1", 32, "lo"))));
  }

  @Test
  void shouldIncludeTheDestinationsOfTheLocalRoutingTableOnce() {
    assertEquals(
        List.of("127.0.0.0/8", "192.0.2.5/32", "203.0.113.0/24", "2001:db8::/128"),
        texts(
            List.of(local("192.0.2.5", 32, "eth0")),
            "127.0.0.0/8",
            "192.0.2.5/32",
            "203.0.113.0/24",
            "2001:db8::/128",
            "2001:db8::/128"));
  }

  @Test
  void shouldOmitLinkLocalAddresses() {
    assertEquals(
        List.of("2001:db8::1/128"),
        texts(
            List.of(local("fe80::1", 64, "eth0"), local("2001:db8::1", 64, "eth0")),
            "fe80::/128",
            "fe80::1/128"));
  }

  @Test
  void shouldHaveNoBroadcastAddressForANetworkOf31Bits() {
    assertEquals(Optional.empty(), local("192.0.2.0", 31, "eth0").broadcast());
    assertEquals(Optional.empty(), local("192.0.2.1", 32, "eth0").broadcast());
    assertEquals(
        Optional.of(IpAddress.parse("192.0.2.3")), local("192.0.2.1", 30, "eth0").broadcast());
  }

  private static LocalAddress local(String address, int length, String device) {
    return new LocalAddress(IpAddress.parse(address), length, device);
  }

  private static List<String> texts(List<LocalAddress> all, String... local) {
    final LocalAddresses addresses =
        new LocalAddresses() {
          @Override
          public List<LocalAddress> all() {
            return all;
          }

          @Override
          public List<Prefix> routedHere() {
            return Stream.of(local).map(Prefix::parse).toList();
          }

          @Override
          public Optional<String> defaultDevice(boolean ipv4) {
            return Optional.empty();
          }
        };
    return addresses.reachable().stream().map(Prefix::toString).toList();
  }
}
