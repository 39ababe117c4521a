package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.Devices.Device;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which devices get the host program, by what they have and by what is selected. */
class GuardedDevicesTest {
  private final List<Device> present = new ArrayList<>();
  private final List<LocalAddress> addresses = new ArrayList<>();
  private final Map<Boolean, String> defaultDevices = new HashMap<>();

  private GuardedDevices guarded(String selection, Integer... workloads) {
    return new GuardedDevices(
        DeviceSelection.parse(selection), new Present(), new Local(), () -> Set.of(workloads));
  }

  private void device(String name, int index) {
    present.add(new Device(name, index, MacAddress.of(index), 1500, true, null, true, -1));
  }

  private void address(String device, String address) {
    addresses.add(new LocalAddress(IpAddress.parse(address), 24, device));
  }

  @Test
  void shouldGuardTheDevicesWithAnAddressOfMoreThanTheirLink() {
    device("lo", 1);
    device("eth0", 2);
    device("eth1", 3);
    device("eth2", 4);
    device("eth3", 5);
    address("lo", "127.0.0.1");
    address("lo", "192.0.2.9");
    address("eth0", "192.0.2.1");
    address("eth1", "2001:db8::1");
    address("eth2", "169.254.0.7");
    address("eth2", "fe80::7");
    assertEquals(Set.of("eth0", "eth1"), guarded("auto").facing());
    assertEquals(Map.of("eth0", 2, "eth1", 3), guarded("auto").present());
  }

  @Test
  void shouldTellTheFirstAddressOfEachFamilyThatIsValidBeyondTheLink() {
    address("lo", "127.0.0.1");
    address("eth0", "169.254.0.7");
    address("eth0", "192.0.2.1");
    address("eth0", "192.0.2.2");
    address("eth0", "fe80::1");
    address("eth0", "2001:db8::1");
    address("eth0", "2001:db8::2");
    address("eth1", "198.51.100.1");
    assertEquals(
        Map.of(
            "eth0",
            new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1")),
            "eth1",
            new AddressPair(IpAddress.parse("198.51.100.1"), null)),
        guarded("auto").addresses());
  }

  @Test
  void shouldGuardTheDeviceOfTheDefaultRouteOfEitherFamily() {
    device("ppp4", 2);
    device("ppp6", 3);
    defaultDevices.put(true, "ppp4");
    assertEquals(Map.of("ppp4", 2), guarded("auto").present());
    defaultDevices.clear();
    defaultDevices.put(false, "ppp6");
    assertEquals(Map.of("ppp6", 3), guarded("auto").present());
    defaultDevices.put(true, "lo");
    assertEquals(Set.of("ppp6"), guarded("auto").facing());
  }

  @Test
  void shouldNeverGuardTheLoopbackAHostSideOrADeviceWithoutEthernet() {
    device("lo", 1);
    device("lxc7", 7);
    device("eth0", 8);
    present.add(new Device("tun0", 9, null, 1500, true, "tun", true, -1));
    for (final String name : List.of("lo", "lxc7", "eth0", "tun0")) {
      address(name, "192.0.2.1");
    }
    assertEquals(Map.of("eth0", 8), guarded("auto", 7).present());
    assertEquals(Map.of("eth0", 8), guarded("+", 7).present());
    assertEquals(Map.of("eth0", 8, "lxc7", 7), guarded("auto").present());
  }

  @Test
  void shouldGuardWhatIsNamedWhetherItFacesTheNetworkOrNot() {
    device("eth0", 2);
    device("wan0", 3);
    device("wan1", 4);
    address("eth0", "192.0.2.1");
    assertEquals(Map.of("wan0", 3, "wan1", 4), guarded("wan+").present());
    assertEquals(Map.of("wan1", 4), guarded("wan1,absent0").present());
    assertTrue(guarded("wan+").names("wan9"));
    assertFalse(guarded("wan+").names("eth0"));
    assertEquals(Set.of("eth0"), guarded("wan+").facing());
  }

  /** The devices of the test. */
  private final class Present implements Devices {
    @Override
    public Optional<Device> byName(String name) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Optional<Device> byIndex(int index) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<Device> all() {
      return present;
    }

    @Override
    public Optional<Device> peerOf(int index) {
      throw new UnsupportedOperationException();
    }
  }

  /** The addresses and default routes of the test. */
  private final class Local implements LocalAddresses {
    @Override
    public List<LocalAddress> all() {
      return addresses;
    }

    @Override
    public List<Prefix> routedHere() {
      return List.of();
    }

    @Override
    public Optional<String> defaultDevice(boolean ipv4) {
      return Optional.ofNullable(defaultDevices.get(ipv4));
    }
  }
}
