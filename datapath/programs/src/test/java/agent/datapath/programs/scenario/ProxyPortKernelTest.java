package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.ScenarioProxy.CLIENT;
import static agent.datapath.programs.scenario.ScenarioProxy.PROXY;
import static agent.datapath.programs.scenario.ScenarioProxy.opening;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;

import agent.maps.layout.DropReason;
import agent.maps.layout.MapSize;
import agent.maps.layout.RedirectKind;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import agent.testkit.SpecialAddresses;
import agent.testkit.SpecialAddresses.Block;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The ports of the proxies answer only what policy has sent there, whatever frame brings a packet
 * of the network to them: frames that the programs pass to the stack are judged before.
 */
@KernelTest
class ProxyPortKernelTest {
  private static final int FIRST_OTHER = PROXY + MapSize.REDIRECT_PORTS;
  private static final int LAST = FIRST_OTHER - 1;
  private static final int NO_OPERATION = 1;
  private static final int TOO_MANY_EXTENSIONS = 7;
  private static final String BROADCAST_MAC = "ff:ff:ff:ff:ff:ff";
  private static final String MULTICAST_MAC = "01:00:5e:00:00:fb";

  /** Frames whose packets the stack takes as those of untagged frames to this device. */
  private static final List<UnaryOperator<IpPacket>> FRAMES =
      List.of(
          packet -> packet.to(DEVICE_MAC).vlan(0),
          packet -> packet.to(DEVICE_MAC).vlan(0).vlan(0),
          packet -> packet.to(DEVICE_MAC).serviceVlan(0).vlan(0),
          packet -> packet.to(BROADCAST_MAC),
          packet -> packet.to(MULTICAST_MAC),
          packet -> packet.to(BROADCAST_MAC).vlan(0));

  private final ScenarioNode node = new ScenarioNode().routed().own(NODE);

  @AfterEach
  void close() {
    node.close();
  }

  private void serve(RedirectKind kind) {
    ScenarioProxy.serve(node, RedirectKind.HTTP, kind == RedirectKind.HTTP ? PROXY : 0);
    ScenarioProxy.serve(node, RedirectKind.DNS, kind == RedirectKind.DNS ? PROXY : 0);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatIsToAProxyInAnyFrame(Family family) {
    for (final RedirectKind kind : List.of(RedirectKind.HTTP, RedirectKind.DNS)) {
      serve(kind);
      for (final UnaryOperator<IpPacket> frame : FRAMES) {
        for (final int protocol : ScenarioProxy.protocols()) {
          for (final int port : new int[] {PROXY, LAST}) {
            for (final byte[] packet : all(() -> frame.apply(to(family, HOST, protocol, port)))) {
              node.fromNetwork(packet).dropsFor(DropReason.NOT_REDIRECTED);
            }
          }
          for (final int port : new int[] {PROXY - 1, FIRST_OTHER}) {
            for (final byte[] packet : all(() -> frame.apply(to(family, HOST, protocol, port)))) {
              if (family == Family.IPV4 || isPlain(packet)) {
                node.fromNetwork(packet).passesUncounted();
              }
            }
          }
          for (final ScenarioHost other : List.of(NODE, BOB)) {
            for (final byte[] packet : all(() -> frame.apply(to(family, other, protocol, PROXY)))) {
              node.fromNetwork(packet).passesUncounted();
            }
          }
        }
        final IpPacket echo = frame.apply(family.packet(STRANGER, HOST)).echoRequest(7, 1);
        node.fromNetwork(echo).passesUncounted();
      }
    }
  }

  /** The stack gets a header of TCP out of fragments that have a part of it each. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatIsToAProxyAndTheParserRefuses(Family family) {
    serve(RedirectKind.DNS);
    final List<byte[]> parts = parts(family, HOST, PROXY);
    node.fromNetwork(parts.getFirst()).dropsFor(DropReason.NOT_REDIRECTED);
    if (family == Family.IPV4) {
      node.fromNetwork(parts.get(1)).passesUncounted(); // of no use without the first one
      node.fromNetwork(parts(family, HOST, FIRST_OTHER).getFirst()).passesUncounted();
    }
    node.fromNetwork(parts(family, NODE, PROXY).getFirst()).passesUncounted();
    if (family == Family.IPV6) {
      node.fromNetwork(extended(HOST)).dropsFor(DropReason.NOT_REDIRECTED);
      node.fromNetwork(extended(NODE)).passesUncounted();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassAllWhereThereIsNoProxy(Family family) {
    for (final UnaryOperator<IpPacket> frame : FRAMES) {
      for (final byte[] packet : all(() -> frame.apply(to(family, HOST, UDP, PROXY)))) {
        node.fromNetwork(packet).passesUncounted();
      }
    }
    node.fromNetwork(parts(family, HOST, PROXY).getFirst()).passesUncounted();
  }

  /** The stack would give it to a socket, and answer. Errors of routers are the stack's. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatNoHostSendsToThisNode(Family family) {
    for (final Block block : SpecialAddresses.blocks(family == Family.IPV6)) {
      for (final String source : block.addresses()) {
        for (final UnaryOperator<IpPacket> frame :
            Stream.concat(
                    Stream.<UnaryOperator<IpPacket>>of(packet -> packet.to(DEVICE_MAC)),
                    FRAMES.stream())
                .toList()) {
          for (final ScenarioHost own : List.of(NODE, HOST)) {
            for (final byte[] packet :
                all(() -> frame.apply(from(family, source, own)).udp(CLIENT, 53))) {
              if (block.isOfHosts()) {
                node.fromNetwork(packet).passesUncounted();
              } else {
                node.fromNetwork(packet).dropsFor(DropReason.INVALID_ADDRESS);
              }
            }
            node.fromNetwork(frame.apply(from(family, source, own)).echoReply(7, 1))
                .passesUncounted();
          }
          node.fromNetwork(frame.apply(from(family, source, STRANGER)).udp(CLIENT, 53))
              .passesUncounted();
        }
      }
    }
  }

  private static IpPacket to(Family family, ScenarioHost host, int protocol, int port) {
    return opening(family.packet(STRANGER, host), protocol, CLIENT, port);
  }

  private static IpPacket from(Family family, String source, ScenarioHost to) {
    return family == Family.IPV4 ? Packets.ipv4(source, to.ipv4) : Packets.ipv6(source, to.ipv6);
  }

  /** The packet, one with IP options or an extension header, and its first fragment. */
  private static List<byte[]> all(Supplier<IpPacket> packet) {
    return List.of(
        packet.get().bytes(),
        packet.get().options(NO_OPERATION).extension(IpPacket.DESTINATION_OPTIONS, 1).bytes(),
        packet.get().payloadOf(64).fragments(48).getFirst());
  }

  /** Returns whether a tagged or untagged packet of IPv6 has its ports behind the first header. */
  private static boolean isPlain(byte[] frame) {
    int offset = 12;
    while ((frame[offset] & 0xff) != 0x86) {
      offset += 4;
    }
    return frame[offset + 2 + 6] == TCP || frame[offset + 2 + 6] == UDP;
  }

  /** A segment whose second part has the port of a proxy where the first one has its own. */
  private static List<byte[]> parts(Family family, ScenarioHost to, int port) {
    return family
        .packet(STRANGER, to)
        .to(DEVICE_MAC)
        .tcp(CLIENT, port)
        .ack(PROXY)
        .payloadOf(64)
        .fragments(8);
  }

  private static IpPacket extended(ScenarioHost to) {
    final IpPacket packet = Family.IPV6.packet(STRANGER, to).to(DEVICE_MAC).udp(CLIENT, PROXY);
    for (int i = 0; i < TOO_MANY_EXTENSIONS; i++) {
      packet.extension(IpPacket.DESTINATION_OPTIONS, 1);
    }
    return packet;
  }
}
