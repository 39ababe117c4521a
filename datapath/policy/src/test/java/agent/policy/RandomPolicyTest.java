package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.identityOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.model.NaiveEndpoint;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.PolicyMapModel;
import agent.policy.model.RandomPolicy;
import agent.policy.model.Verdict;
import agent.policy.spec.NamedPort;
import agent.policy.spec.RuleSpec;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RandomPolicyTest {
  private static final int RULE_SETS = 3000;
  private static final int PACKETS = 60;
  private static final int[] PROTOCOLS = {6, 6, 6, 17, 132, 1, 58, 47, 112};

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(new PolicyContext().identities(identities).conclude());
  private final List<Identity> endpoints = new ArrayList<>();
  private final List<List<NamedPort>> ports = new ArrayList<>();
  private final Map<Integer, List<PolicyEntry>> written = new HashMap<>();
  private final Map<Verdict, Integer> seen = new EnumMap<>(Verdict.class);

  /** The packets whose verdict a named port decides. */
  private final Map<String, Integer> byName = new TreeMap<>();

  @Test
  void shouldGiveTheVerdictOfTheNaivePolicyForEveryPacket() {
    for (int seed = 0; seed < RULE_SETS; seed++) {
      final RandomPolicy random = new RandomPolicy(seed);
      final List<RuleSpec> rules = random.rules();
      carryOut(delete(engine, List.of()));
      changeEndpoints(random);
      carryOut(add(engine, rules, false));
      changeEndpoints(random);
      for (int i = 0; i < PACKETS; i++) {
        check(seed, random, rules);
      }
    }
    for (final Verdict verdict : Verdict.values()) {
      assertTrue(
          seen.getOrDefault(verdict, 0) > PACKETS * RULE_SETS / 20, () -> "too few: " + seen);
    }
    for (final String kind : List.of("ALLOWED in", "ALLOWED out", "DENIED in", "DENIED out")) {
      assertTrue(byName.getOrDefault(kind, 0) > RULE_SETS / 60, () -> "too few: " + byName);
    }
  }

  /**
   * Adds, relabels and removes endpoints while rules exist; the maps of all endpoints must follow.
   */
  private void changeEndpoints(RandomPolicy random) {
    while (endpoints.size() > 2 && random.below(2) == 0) {
      final Identity gone = endpoints.removeLast();
      ports.removeLast();
      carryOut(engine.endpointRemoved(endpoints.size() + 1));
      written.remove(endpoints.size() + 1);
      identities.release(gone.id()).join();
      carryOut(engine.refresh());
    }
    while (endpoints.size() < 5) {
      final Identity identity = identities.acquire(random.labels()).join();
      endpoints.add(identity);
      ports.add(random.namedPorts());
      carryOut(engine.endpointSet(endpoints.size(), identity, ports.getLast()));
    }
    if (random.below(3) == 0) {
      final int changed = random.below(endpoints.size());
      ports.set(changed, random.namedPorts());
      carryOut(engine.endpointSet(changed + 1, endpoints.get(changed), ports.get(changed)));
    }
    if (random.below(3) == 0) {
      giveAnotherIdentity(random);
    }
  }

  private void giveAnotherIdentity(RandomPolicy random) {
    final int changed = random.below(endpoints.size());
    final Identity former = endpoints.get(changed);
    endpoints.set(changed, identities.acquire(random.labels()).join());
    carryOut(engine.endpointSet(changed + 1, endpoints.get(changed), ports.get(changed)));
    engine.identityLeft(changed + 1).ifPresent(this::carryOut);
    identities.release(former.id()).join();
    carryOut(engine.refresh());
  }

  /** Returns a named port of an endpoint, or null to take any port. */
  private NamedPort somePort(RandomPolicy random) {
    final List<NamedPort> some = random.pick(ports);
    return some.isEmpty() || random.below(2) == 0 ? null : random.pick(some);
  }

  private static int somePort(RandomPolicy random, int protocol) {
    return switch (protocol) {
      case 1, 58 -> random.someIcmpType();
      case 47, 112 -> 0;
      default -> random.somePort();
    };
  }

  private List<NaiveEndpoint> naiveEndpoints() {
    final List<NaiveEndpoint> naive = new ArrayList<>();
    for (int i = 0; i < endpoints.size(); i++) {
      naive.add(new NaiveEndpoint(labelsOf(endpoints.get(i)), ports.get(i)));
    }
    return naive;
  }

  /** Applies the differences as the datapath does; the result must be the whole policy. */
  private void carryOut(PolicyUpdate update) {
    assertEquals(Map.of(), update.failures());
    final List<EndpointPolicyChange> changes = new ArrayList<>(update.endpoints());
    changes.addAll(update.cleanups());
    for (final EndpointPolicyChange change : changes) {
      final Map<PolicyEntry.Key, PolicyEntry> map = new HashMap<>();
      written.getOrDefault(change.endpointId(), List.of()).forEach(e -> map.put(e.key(), e));
      change.diff().deletes().forEach(entry -> map.remove(entry.key()));
      change.diff().upserts().forEach(entry -> map.put(entry.key(), entry));
      final List<PolicyEntry> entries = new ArrayList<>(map.values());
      entries.sort(null);
      assertEquals(change.policy().entries(), entries);
      written.put(change.endpointId(), entries);
    }
  }

  private void check(int seed, RandomPolicy random, List<RuleSpec> rules) {
    final int endpoint = 1 + random.below(endpoints.size());
    final LabelSet subject = labelsOf(endpoints.get(endpoint - 1));
    final boolean ingress = random.below(2) == 0;
    final NamedPort named = somePort(random);
    final int protocol =
        named == null
            ? PROTOCOLS[random.below(PROTOCOLS.length)]
            : named.protocol().equals("TCP") ? 6 : 17;
    final int port = named == null ? somePort(random, protocol) : named.port();
    final NaivePeer peer;
    final int identity;
    switch (random.below(8)) {
      case 0, 1, 2 -> {
        final Identity other = random.pick(endpoints);
        peer = NaivePeer.endpoint(labelsOf(other));
        identity = other.id();
      }
      case 3 -> {
        peer = NaivePeer.host();
        identity = ReservedIdentity.HOST.id();
      }
      case 4 -> {
        peer = NaivePeer.remoteNode();
        identity = ReservedIdentity.REMOTE_NODE.id();
      }
      default -> {
        peer = NaivePeer.outside(random.someOutsideAddress());
        identity = identityOf(engine.outsidePrefixes(), peer.address());
      }
    }
    final NaivePolicy naive = new NaivePolicy(rules, ports.get(endpoint - 1), naiveEndpoints());
    final Verdict expected = naive.verdict(subject, ingress, peer, protocol, port);
    if (expected != new NaivePolicy(rules).verdict(subject, ingress, peer, protocol, port)) {
      byName.merge(expected + (ingress ? " in" : " out"), 1, Integer::sum);
    }
    final PolicyDirection direction = ingress ? PolicyDirection.INGRESS : PolicyDirection.EGRESS;
    final Verdict actual =
        new PolicyMapModel(written.get(endpoint)).verdict(identity, direction, protocol, port);
    seen.merge(expected, 1, Integer::sum);
    assertEquals(
        expected,
        actual,
        () ->
            "seed %d, %s %s, peer %s (identity %d), protocol %d port %d%nrules %s%nentries %s"
                .formatted(
                    seed,
                    ingress ? "to" : "from",
                    subject,
                    peer,
                    identity,
                    protocol,
                    port,
                    rules + " named ports " + naiveEndpoints(),
                    written.get(endpoint)));
  }

  private static LabelSet labelsOf(Identity identity) {
    return identity.isReserved() ? LabelSet.EMPTY : identity.labels();
  }
}
