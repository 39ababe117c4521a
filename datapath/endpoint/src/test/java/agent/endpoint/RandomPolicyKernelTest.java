package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BpfProgram;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy.IpcacheChange;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.RandomPolicy;
import agent.policy.model.Verdict;
import agent.policy.spec.RuleSpec;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Compares the programs in the kernel with {@link NaivePolicy} on random rules: every packet opens
 * its own flow, and the verdict of the program and the counted drop reason must be those of the
 * model.
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

  /** Two protocols without ports; the flows of each are always opened from the same side. */
  private static final int UPWARDS = 47;

  private static final int DOWNWARDS = 94;
  private static final int[] PROTOCOLS = {TCP, TCP, UDP, SCTP, ICMP, UPWARDS};

  /** A packet, described without identities and map keys. */
  private record Case(
      Party endpoint,
      boolean sends,
      Party localPeer,
      NaivePeer peer,
      IpAddress peerAddress,
      int protocol,
      int port) {}

  /** One endpoint and its programs. */
  private record Party(int id, Workload workload, BpfProgram fromEndpoint, BpfProgram toEndpoint) {
    IpAddress address(boolean isIpv4) {
      return IpAddress.parse(isIpv4 ? workload.ipv4() : workload.ipv6());
    }
  }

  private static final String REMOTE_NODE4 = "192.0.2.99";
  private static final String REMOTE_NODE6 = "2001:db8:ffff::99";

  private final Map<Verdict, Integer> seen = new EnumMap<>(Verdict.class);
  private final List<Party> endpoints = new ArrayList<>();
  private final Map<Party, LabelSet> labels = new HashMap<>();
  private KernelRig agent;
  private ProgramVerdicts verdicts;
  private int flows;

  @BeforeEach
  void setUp() throws IOException {
    agent = new KernelRig();
    verdicts = new ProgramVerdicts(agent.datapath());
    for (int id = 1; id <= ENDPOINTS; id++) {
      final Workload workload = agent.workload(id + 10);
      agent.create(id, workload);
      final Party party =
          new Party(
              id, workload, agent.program(id, "from_endpoint"), agent.program(id, "to_endpoint"));
      endpoints.add(party);
      labels.put(party, LabelSet.EMPTY);
    }
    agent
        .datapath()
        .ipcache()
        .apply(List.of(remoteNode(REMOTE_NODE4), remoteNode(REMOTE_NODE6)))
        .join();
  }

  private static IpcacheChange remoteNode(String address) {
    return new IpcacheChange(
        null, new IpcacheEntry(Prefix.parse(address), ReservedIdentity.REMOTE_NODE.id(), 0, false));
  }

  @AfterEach
  void tearDown() throws IOException {
    for (final Party party : endpoints) {
      party.fromEndpoint().close();
      party.toEndpoint().close();
    }
    verdicts.close();
    agent.close();
  }

  @Test
  void shouldGiveTheVerdictOfTheNaivePolicyForEveryPacket() {
    agent.inNamespace(
        () -> {
          for (int seed = 0; seed < RULE_SETS; seed++) {
            checkRules(seed);
          }
        });
    for (final Verdict verdict : Verdict.values()) {
      assertTrue(
          seen.getOrDefault(verdict, 0) > RULE_SETS * PACKETS / 20, () -> "too few: " + seen);
    }
  }

  private void relabel(Party party, LabelSet next) {
    agent.relabel(party.id(), next.toStrings().toArray(String[]::new));
    labels.put(party, next);
  }

  private void checkRules(int seed) {
    final RandomPolicy random = new RandomPolicy(1_000_000 + seed);
    final List<RuleSpec> rules = random.rules();
    relabel(random.pick(endpoints), random.labels());
    agent.deleteRules();
    agent.importRules(rules.toArray(RuleSpec[]::new));
    relabel(random.pick(endpoints), random.labels());
    for (int i = 0; i < PACKETS; i++) {
      check(seed, random, rules);
    }
  }

  private void check(int seed, RandomPolicy random, List<RuleSpec> rules) {
    final Case packet = someCase(random);
    final Verdict expected = expected(packet, new NaivePolicy(rules));
    final Verdict actual =
        verdicts.of(
            packet.sends() ? packet.endpoint().fromEndpoint() : packet.endpoint().toEndpoint(),
            packet.sends(),
            frame(packet, random),
            packet.endpoint().workload().veth().hostIfindex(),
            packet.localPeer() == null ? 0 : packet.localPeer().workload().veth().hostIfindex());
    seen.merge(expected, 1, Integer::sum);
    assertEquals(
        expected,
        actual,
        () ->
            "seed %d, endpoint %s %s %s, protocol %d port %d%nrules %s"
                .formatted(
                    seed,
                    labels.get(packet.endpoint()),
                    packet.sends() ? "sends to" : "is sent by",
                    packet.peer(),
                    packet.protocol(),
                    packet.port(),
                    rules));
    assertEquals(
        isPeersPolicy(packet, new NaivePolicy(rules)),
        verdicts.isCountedAtPeer(),
        "a drop is counted at the end whose policy it is");
  }

  /** Returns whether the policy of the local peer, and not of the endpoint, drops the packet. */
  private boolean isPeersPolicy(Case packet, NaivePolicy policy) {
    final Verdict verdict = expected(packet, policy);
    if (packet.localPeer() == null || verdict == Verdict.ALLOWED) {
      return false;
    }
    final Verdict own = ownVerdict(packet, policy);
    return packet.sends() ? own == Verdict.ALLOWED : peerVerdict(packet, policy) != Verdict.ALLOWED;
  }

  private Case someCase(RandomPolicy random) {
    final Party endpoint = random.pick(endpoints);
    final boolean sends = random.below(2) == 0;
    boolean isIpv4 = random.below(2) == 0;
    Party localPeer = null;
    final NaivePeer peer;
    final IpAddress address;
    switch (random.below(8)) {
      case 0, 1, 2 -> {
        do {
          localPeer = random.pick(endpoints);
        } while (localPeer == endpoint);
        peer = NaivePeer.endpoint(labels.get(localPeer));
        address = localPeer.address(isIpv4);
      }
      case 3 -> {
        peer = NaivePeer.host();
        address = gateway(isIpv4);
      }
      case 4 -> {
        peer = NaivePeer.remoteNode();
        address = IpAddress.parse(isIpv4 ? REMOTE_NODE4 : REMOTE_NODE6);
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

  /** Returns an address of the node. */
  private IpAddress gateway(boolean isIpv4) {
    return isIpv4 ? agent.addressing().ipv4().gateway() : agent.addressing().ipv6().gateway();
  }

  /**
   * Returns a random ICMP type that policy applies to: no error, whose verdict follows the quoted
   * flow, and no link control message.
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
   * Returns the verdict of the model: egress policy of a local sender first, then ingress policy of
   * a local receiver.
   */
  private Verdict expected(Case packet, NaivePolicy policy) {
    final Verdict own = ownVerdict(packet, policy);
    if (packet.localPeer() == null) {
      return own;
    }
    final Verdict peers = peerVerdict(packet, policy);
    final Verdict first = packet.sends() ? own : peers;
    return first != Verdict.ALLOWED ? first : packet.sends() ? peers : own;
  }

  private Verdict ownVerdict(Case packet, NaivePolicy policy) {
    return policy.verdict(
        labels.get(packet.endpoint()),
        !packet.sends(),
        packet.peer(),
        packet.protocol(),
        packet.port());
  }

  private Verdict peerVerdict(Case packet, NaivePolicy policy) {
    final NaivePeer own = NaivePeer.endpoint(labels.get(packet.endpoint()));
    return policy.verdict(
        packet.peer().labels(), packet.sends(), own, packet.protocol(), packet.port());
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
    final String workload = packet.endpoint().workload().veth().workloadMac();
    final String host = packet.endpoint().workload().veth().hostMac();
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
