package agent.launcher.process;

import agent.launcher.process.DifferentialNetwork.Host;
import agent.testkit.IpPacket;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.SpecialAddresses;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Questions in frames to addresses that no socket sends to; none of them may reach a server. */
final class DifferentialSpecialFrames {
  private static final int FRAMES = 8;

  private DifferentialSpecialFrames() {}

  /** Sends some from a workload, and returns how many. */
  static long send(DifferentialNetwork network, DifferentialGenerator random) throws IOException {
    final Host client = random.pick(network.hosts().subList(0, 3));
    final List<byte[]> frames = new ArrayList<>();
    for (int i = 0; i < FRAMES; i++) {
      final boolean isIpv6 = random.below(3) != 0;
      final String address =
          isIpv6 && random.below(2) == 0
              ? mapped(network, random)
              : random.pick(SpecialAddresses.invalid(isIpv6).toList());
      frames.add(question(client, address, isIpv6, random));
    }
    return PacketFlood.send(client.namespace(), "eth0", frames.size(), frames::get);
  }

  /** Returns an IPv6 address that a careless stack takes for the IPv4 address of a host. */
  private static String mapped(DifferentialNetwork network, DifferentialGenerator random) {
    final Host host = random.pick(network.hosts());
    final String prefix = random.pick(List.of("::ffff:", "::"));
    return prefix + random.pick(host.addresses(false));
  }

  private static byte[] question(
      Host client, String address, boolean isIpv6, DifferentialGenerator random)
      throws IOException {
    final String own = client.addresses(isIpv6).getFirst();
    final IpPacket packet = isIpv6 ? Packets.ipv6(own, address) : Packets.ipv4(own, address);
    final byte[] question =
        DifferentialClient.question(random.pick(DifferentialGenerator.NAMES), isIpv6);
    return packet
        .from(client.workload().veth().workloadMac())
        .to(client.workload().veth().hostMac())
        .udp(40_000, random.port(false))
        .payload(question)
        .bytes();
  }
}
