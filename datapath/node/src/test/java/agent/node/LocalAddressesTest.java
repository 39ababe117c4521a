package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.types.IpAddress;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LocalAddressesTest {
  @Test
  void shouldIncludeEveryAddressWhosePacketsItsSocketsReceive() {
    assertEquals(
        List.of("169.254.20.10", "169.254.255.255", "192.0.2.5", "192.0.2.127", "198.51.100.1"),
        reachable(
                local("127.0.0.1", 8, "lo"),
                local("192.0.2.5", 25, "eth0"),
                local("169.254.20.10", 16, "dns0"),
                local("198.51.100.1", 32, "lo"))
            .stream()
            .map(IpAddress::toString)
            .toList());
  }

  @Test
  void shouldOmitLinkLocalAddresses() {
    assertEquals(
        List.of(IpAddress.parse("2001:db8::1")),
        reachable(
            local("::1", 128, "lo"),
            local("fe80::1", 64, "eth0"),
            local("2001:db8::1", 64, "eth0")));
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

  private static List<IpAddress> reachable(LocalAddress... all) {
    final LocalAddresses addresses =
        new LocalAddresses() {
          @Override
          public List<LocalAddress> all() {
            return List.of(all);
          }

          @Override
          public Optional<String> defaultDevice(boolean ipv4) {
            return Optional.empty();
          }
        };
    return List.copyOf(addresses.reachable());
  }
}
