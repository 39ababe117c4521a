package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.RandomPolicy;
import agent.policy.model.Verdict;
import agent.policy.spec.RuleSpec;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Packets;
import agent.types.IpAddress;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Random rules in the kernel against the naive reading: every packet opens a flow of its own, and
 * the program's verdict, and the reason that it counts, must be those of the rules read word by
 * word.
 */
@KernelTest
class RandomPolicyKernelTest {
  private static final int RULE_SETS = 320;
  private static final int PACKETS = 60;
  private static final int ENDPOINTS = 4;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int SCTP = 132;
  private static final int ICMP = 1;
  private static final int ICMP6 = 58;

  /** Two protocols without ports: a flow of each is always opened from the same side. */
  private static final int UPWARDS = 47;

  private static final int DOWNWARDS = 94;
  private static final int[] PROTOCOLS = {TCP, TCP, UDP, SCTP, ICMP, UPWARDS};

  /** A packet as a person sees it. */
  private record Case(
      PolicyTestBed.Endpoint endpoint,
      boolean sends,
      PolicyTestBed.Endpoint localPeer,
      NaivePeer peer,
      IpAddress peerAddress,
      int protocol,
      int port) {}

  private final Map<Verdict, Integer> seen = new EnumMap<>(Verdict.class);
  private int flows;

  @Test
  void shouldGiveTheVerdictOfTheNaiveReadingForEveryPacket() throws Exception {
    try (NetworkNamespace node = NetworkNamespace.create("policy-node")) {
      node.run(
          () -> {
            try (PolicyTestBed bed = new PolicyTestBed(node, ENDPOINTS)) {
              for (int seed = 0; seed < RULE_SETS; seed++) {
                checkRules(bed, seed);
              }
            }
            return null;
          });
    }
    for (final Verdict verdict : Verdict.values()) {
      assertTrue(
          seen.getOrDefault(verdict, 0) > RULE_SETS * PACKETS / 20, () -> "too few: " + seen);
    }
  }

  private void checkRules(PolicyTestBed bed, int seed) {
    final RandomPolicy random = new RandomPolicy(1_000_000 + seed);
    final List<RuleSpec> rules = random.rules();
    bed.relabel(random.pick(bed.endpoints()), random.labels());
    bed.replaceRules(rules);
    bed.relabel(random.pick(bed.endpoints()), random.labels());
    for (int i = 0; i < PACKETS; i++) {
      check(bed, seed, random, rules);
    }
  }

  private void check(PolicyTestBed bed, int seed, RandomPolicy random, List<RuleSpec> rules) {
    final Case packet = someCase(bed, random);
    final Verdict expected = expected(bed, packet, new NaivePolicy(rules));
    final Verdict actual = bed.verdict(packet.endpoint(), packet.sends(), frame(packet, random));
    seen.merge(expected, 1, Integer::sum);
    assertEquals(
        expected,
        actual,
        () ->
            "seed %d, endpoint %s %s %s, protocol %d port %d%nrules %s"
                .formatted(
                    seed,
                    bed.labelsOf(packet.endpoint()),
                    packet.sends() ? "sends to" : "is sent by",
                    packet.peer(),
                    packet.protocol(),
                    packet.port(),
                    rules));
  }

  private static Case someCase(PolicyTestBed bed, RandomPolicy random) {
    final PolicyTestBed.Endpoint endpoint = random.pick(bed.endpoints());
    final boolean sends = random.below(2) == 0;
    boolean isIpv4 = random.below(2) == 0;
    PolicyTestBed.Endpoint localPeer = null;
    final NaivePeer peer;
    final IpAddress address;
    switch (random.below(8)) {
      case 0, 1, 2 -> {
        do {
          localPeer = random.pick(bed.endpoints());
        } while (localPeer == endpoint);
        peer = NaivePeer.endpoint(bed.labelsOf(localPeer));
        address = localPeer.address(isIpv4);
      }
      case 3 -> {
        peer = NaivePeer.host();
        address = IpAddress.parse(isIpv4 ? PolicyTestBed.HOST4 : PolicyTestBed.HOST6);
      }
      case 4 -> {
        peer = NaivePeer.remoteNode();
        address = IpAddress.parse(isIpv4 ? PolicyTestBed.REMOTE_NODE4 : PolicyTestBed.REMOTE_NODE6);
      }
      default -> {
        address = random.someOutsideAddress();
        peer = NaivePeer.outside(address);
        isIpv4 = address.isIpv4();
      }
    }
    final int protocol = PROTOCOLS[random.below(PROTOCOLS.length)];
    return switch (protocol) {
      case ICMP ->
          new Case(
              endpoint,
              sends,
              localPeer,
              peer,
              address,
              isIpv4 ? ICMP : ICMP6,
              someType(isIpv4, random));
      case UPWARDS -> {
        final boolean upwards = endpoint.address(isIpv4).compareTo(address) < 0 == sends;
        yield new Case(endpoint, sends, localPeer, peer, address, upwards ? UPWARDS : DOWNWARDS, 0);
      }
      default -> new Case(endpoint, sends, localPeer, peer, address, protocol, random.somePort());
    };
  }

  /**
   * Without errors, which follow the flow that they quote, and without what is for one link only.
   */
  private static int someType(boolean isIpv4, RandomPolicy random) {
    while (true) {
      final int type = random.someIcmpType();
      final boolean isError =
          isIpv4 ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;
      final boolean isLinkControl = !isIpv4 && (type >= 130 && type <= 137 || type == 143);
      if (!isError && !isLinkControl) {
        return type;
      }
    }
  }

  /**
   * The sender's egress policy first, then the receiver's ingress policy, of those on this node.
   */
  private static Verdict expected(PolicyTestBed bed, Case packet, NaivePolicy policy) {
    final NaivePeer own = NaivePeer.endpoint(bed.labelsOf(packet.endpoint()));
    final Verdict ownVerdict =
        policy.verdict(
            own.labels(), !packet.sends(), packet.peer(), packet.protocol(), packet.port());
    if (packet.localPeer() == null) {
      return ownVerdict;
    }
    final Verdict peerVerdict =
        policy.verdict(
            packet.peer().labels(), packet.sends(), own, packet.protocol(), packet.port());
    final Verdict first = packet.sends() ? ownVerdict : peerVerdict;
    return first != Verdict.ALLOWED ? first : packet.sends() ? peerVerdict : ownVerdict;
  }

  private byte[] frame(Case packet, RandomPolicy random) {
    final String own = packet.endpoint().address(packet.peerAddress().isIpv4()).toString();
    final String peer = packet.peerAddress().toString();
    final String source = packet.sends() ? own : peer;
    final String destination = packet.sends() ? peer : own;
    final IpPacket ip =
        packet.peerAddress().isIpv4()
            ? Packets.ipv4(source, destination)
            : Packets.ipv6(source, destination);
    final String workload = packet.endpoint().veth().workloadMac();
    final String host = packet.endpoint().veth().hostMac();
    ip.from(packet.sends() ? workload : host).to(packet.sends() ? host : workload);
    final int flow = ++flows;
    return switch (packet.protocol()) {
      case TCP -> ip.tcp(flow, packet.port()).syn().bytes();
      case UDP -> ip.udp(flow, packet.port()).payloadOf(random.below(20)).bytes();
      case SCTP -> ip.sctp(flow, packet.port()).payloadOf(16).bytes();
      case UPWARDS, DOWNWARDS -> ip.protocol(packet.protocol()).payloadOf(16).bytes();
      default -> ip.icmp(packet.port(), 0, identifier(flow)).bytes();
    };
  }

  private static byte[] identifier(int flow) {
    return new byte[] {(byte) (flow >>> 8), (byte) flow, 0, 1, 'a', 'g', 'e', 'n', 't'};
  }
}
