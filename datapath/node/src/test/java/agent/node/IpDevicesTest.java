package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.MacAddress;
import agent.types.Refusal;
import org.junit.jupiter.api.Test;

class IpDevicesTest {
  @Test
  void shouldReadAVeth() {
    assertEquals(
        new Device("lxc1", 12, MacAddress.parse("02:00:00:00:00:01"), 1500, true, "veth"),
        IpDevices.device(
            "12: lxc1@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode"
                + " DEFAULT group default qlen 1000\\    link/ether 02:00:00:00:00:01 brd"
                + " ff:ff:ff:ff:ff:ff link-netnsid 0 promiscuity 0 minmtu 68 maxmtu 65535 \\    veth"
                + " addrgenmode eui64 numtxqueues 2 numrxqueues 2 "));
  }

  @Test
  void shouldReadADeviceWithoutAnAddressOfItsOwn() {
    assertEquals(
        new Device("tun0", 3, null, 65536, false, null),
        IpDevices.device(
            "3: tun0: <POINTOPOINT,NOARP> mtu 65536 qdisc noop state DOWN mode DEFAULT group"
                + " default qlen 500\\    link/none promiscuity 0 minmtu 0 maxmtu 0 addrgenmode eui64"));
  }

  @Test
  void shouldSayWhatItCannotRead() {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> IpDevices.device("Error: no such thing here"));
    assertEquals("ip link: 'Error: no such thing here' is no interface", refusal.getMessage());
  }
}
