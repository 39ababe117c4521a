package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * ICMP errors about packets of flows to a service: their receiver finds the packet that it has
 * sent. STRANGER has the address of the service.
 */
@KernelTest
class ServiceErrorKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int CLIENT = 40000;
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final Server BOBS = new Server(BOB, 8080);
  private static final Server ALICES = new Server(ALICE, 8080);
  private static final Server PEERS = new Server(PEER, 8080);

  private final ScenarioNode node =
      new ScenarioNode()
          .withoutPolicy()
          .with(ALICE, EndpointOption.SERVICES)
          .with(BOB, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  /** Either order of the addresses, each protocol, and quotes with and without a checksum. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheErrorsOfABackendForTheClient(Family family) {
    for (final ScenarioHost client : List.of(ALICE, BOB)) {
      final Server server = client == ALICE ? BOBS : ALICES;
      for (final int protocol : PROTOCOLS) {
        open(family, client, server, protocol);
        for (final int quoted : new int[] {8, 16, 60}) {
          for (final boolean isQuick : new boolean[] {true, false}) {
            final IpPacket sent = sent(family, client, protocol, isQuick);
            final IpPacket served = served(family, client, server, protocol, isQuick);
            node.fromWorkload(
                    server.host(), error(family, server.host(), client, served, quoted, isQuick))
                .reachesAs(client, error(family, STRANGER, client, sent, quoted, isQuick));
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateThemWhereTheyReachTheClient(Family family) {
    node.without(EndpointOption.HOST_ROUTING);
    open(family, ALICE, BOBS, UDP);
    final IpPacket served = served(family, ALICE, BOBS, UDP, true);
    final IpPacket error = error(family, BOB, ALICE, served, 60, true);
    node.fromWorkload(BOB, error).passes();
    node.toWorkload(ALICE, error)
        .passesAs(
            error(family, STRANGER, ALICE, sent(family, ALICE, UDP, true), 60, true)
                .from(BOB.mac())
                .to(BOB.hostMac()));
  }

  /** The router keeps its address, which is how a trace of the route finds it. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheQuoteOfARoutersError(Family family) {
    for (final int protocol : PROTOCOLS) {
      open(family, ALICE, PEERS, protocol);
      final IpPacket served = served(family, ALICE, PEERS, protocol, true);
      final IpPacket sent = sent(family, ALICE, protocol, true);
      node.forwardedToWorkload(ALICE, error(family, FAR, ALICE, served, 60, true))
          .passesAs(error(family, FAR, ALICE, sent, 60, true));
      node.forwardedToWorkload(ALICE, error(family, PEER, ALICE, served, 60, true))
          .passesAs(error(family, STRANGER, ALICE, sent, 60, true));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheErrorsOfAClientForTheBackend(Family family) {
    for (final ScenarioHost client : List.of(ALICE, BOB)) {
      final Server server = client == ALICE ? BOBS : ALICES;
      for (final int protocol : PROTOCOLS) {
        open(family, client, server, protocol);
        for (final boolean isQuick : new boolean[] {true, false}) {
          final IpPacket shown = packet(family, STRANGER, PORT, client, CLIENT, protocol, isQuick);
          final IpPacket answer =
              packet(family, server.host(), server.port(), client, CLIENT, protocol, isQuick);
          final IpPacket error = error(family, client, server.host(), answer, 60, isQuick);
          node.fromWorkload(client, error(family, client, STRANGER, shown, 60, isQuick))
              .passesAs(error);
          node.toWorkload(server.host(), error).passes();
        }
      }
    }
  }

  /** A router behind a workload, whose addresses are not verified, has an address of its own. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheErrorsOfARouterBehindTheClient(Family family) {
    node.without(ALICE, EndpointOption.SOURCE_IP_VERIFICATION);
    open(family, ALICE, BOBS, UDP);
    final IpPacket shown = packet(family, STRANGER, PORT, ALICE, CLIENT, UDP, true);
    final IpPacket answer = packet(family, BOB, BOBS.port(), ALICE, CLIENT, UDP, true);
    node.fromWorkload(ALICE, fromAlice(error(family, FAR, STRANGER, shown, 60, true)))
        .passesAs(fromAlice(error(family, FAR, BOB, answer, 60, true)));
  }

  private static IpPacket fromAlice(IpPacket packet) {
    return packet.from(ALICE.mac()).to(ALICE.hostMac());
  }

  /** Zero stands for a datagram without a checksum (RFC 768). */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.INCLUDE, names = "IPV4")
  void shouldLeaveAQuotedDatagramWithoutAChecksumWithout(Family family) {
    open(family, ALICE, BOBS, UDP);
    final byte[] error = errorWithoutChecksum(family, BOB, served(family, ALICE, BOBS, UDP, true));
    final byte[] expected = errorWithoutChecksum(family, STRANGER, sent(family, ALICE, UDP, true));
    final Outcome outcome = node.fromWorkload(BOB, error);
    assertEquals(Outcome.REDIRECT, outcome.action());
    assertEquals(hex(expected, 14 + 20), hex(outcome.frame(), 14 + 20), "the ICMP message");
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : PROTOCOLS) {
      open(family, ALICE, BOBS, protocol);
      final IpPacket served = served(family, ALICE, BOBS, protocol, true);
      final IpPacket fromBackend = error(family, BOB, ALICE, served, 60, true);
      assertEquals(0, node.checksummedFromWorkload(BOB, fromBackend), "protocol " + protocol);
      final IpPacket shown = packet(family, STRANGER, PORT, ALICE, CLIENT, protocol, true);
      final IpPacket fromClient = error(family, ALICE, STRANGER, shown, 60, true);
      assertEquals(0, node.checksummedFromWorkload(ALICE, fromClient), "protocol " + protocol);
    }
  }

  /** An error is about the flow whose packet it quotes, also where the other side sends it. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTranslateAnErrorThatQuotesNoPacketOfTheFlow(Family family) {
    open(family, ALICE, BOBS, UDP);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(CLIENT + 1, 8080));
    final IpPacket other = family.packet(ALICE, BOB).udp(CLIENT + 1, 8080);
    final IpPacket error = error(family, BOB, ALICE, other, 60, true);
    node.fromWorkload(BOB, error).reachesAs(ALICE, error(family, BOB, ALICE, other, 60, true));
    node.fromWorkload(ALICE, error(family, ALICE, STRANGER, sent(family, BOB, UDP, true), 60, true))
        .passes();
  }

  private void open(Family family, ScenarioHost client, Server server, int protocol) {
    node.services(family).put(ID, STRANGER, PORT, protocol, 0, server);
    node.fromWorkload(client, sent(family, client, protocol, true));
  }

  private static byte[] errorWithoutChecksum(Family family, ScenarioHost from, IpPacket about) {
    final byte[] frame = about.bytes();
    final byte[] body = new byte[4 + 28];
    System.arraycopy(frame, 14, body, 4, 28);
    body[4 + 26] = 0;
    body[4 + 27] = 0;
    return family.packet(from, ALICE).from(BOB.mac()).to(BOB.hostMac()).icmp(3, 1, body).bytes();
  }

  private static String hex(byte[] frame, int from) {
    return HexFormat.of().formatHex(frame, from, frame.length);
  }

  private static IpPacket error(
      Family family, ScenarioHost from, ScenarioHost to, IpPacket about, int l4, boolean isQuick) {
    return slow(
        isQuick,
        family
            .packet(from, to)
            .icmpError(family.unreachableType(), 1, about, family.headers(isQuick) + l4));
  }

  private static IpPacket sent(Family family, ScenarioHost client, int protocol, boolean isQuick) {
    return packet(family, client, CLIENT, STRANGER, PORT, protocol, isQuick);
  }

  private static IpPacket served(
      Family family, ScenarioHost client, Server server, int protocol, boolean isQuick) {
    return packet(family, client, CLIENT, server.host(), server.port(), protocol, isQuick);
  }

  private static IpPacket packet(
      Family family,
      ScenarioHost from,
      int fromPort,
      ScenarioHost to,
      int toPort,
      int protocol,
      boolean isQuick) {
    final IpPacket packet =
        family.packet(from, to).payload("forty-four bytes, which is more than the quote.");
    return slow(isQuick, Family.ports(packet, protocol, fromPort, toPort));
  }
}
