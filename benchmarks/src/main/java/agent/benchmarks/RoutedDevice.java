package agent.benchmarks;

import agent.bindings.net.NetworkDevice;
import agent.testkit.NetworkNamespace;
import agent.types.AddressPair;
import agent.types.IpAddress;
import java.nio.file.Files;
import java.nio.file.Path;

/** The device of a node that faces the network, with addresses, routes and neighbours. */
final class RoutedDevice {
  /** The addresses that the device gets. */
  static final AddressPair OWN =
      new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1"));

  private static final String NEIGHBOUR = "lladdr 02:00:00:00:99:01 nud permanent";

  private RoutedDevice() {}

  /** Makes the namespace forward packets to the network by the device. */
  static void route(NetworkNamespace host, String device) throws Exception {
    host.ip("address add " + OWN.ipv4() + "/24 dev " + device);
    host.ip("-6 address add " + OWN.ipv6() + "/64 dev " + device + " nodad");
    host.ip("neigh add " + BenchmarkNode.REMOTE4 + " " + NEIGHBOUR + " dev " + device);
    for (final String gateway : new String[] {"192.0.2.254", "2001:db8::fe"}) {
      host.ip("neigh add " + gateway + " " + NEIGHBOUR + " dev " + device);
      host.ip((gateway.contains(":") ? "-6 " : "") + "route add default via " + gateway);
    }
    host.run(
        () -> {
          Files.writeString(Path.of("/proc/sys/net/ipv4/ip_forward"), "1");
          return Files.writeString(Path.of("/proc/sys/net/ipv6/conf/all/forwarding"), "1");
        });
  }

  /** Returns the MAC address of a device of this thread's namespace. */
  static String mac(String device) {
    final long mac = NetworkDevice.hardwareAddress(NetworkDevice.index(device));
    final StringBuilder text = new StringBuilder();
    for (int shift = 40; shift >= 0; shift -= Byte.SIZE) {
      text.append(text.isEmpty() ? "" : ":").append("%02x".formatted(mac >> shift & 0xff));
    }
    return text.toString();
  }
}
