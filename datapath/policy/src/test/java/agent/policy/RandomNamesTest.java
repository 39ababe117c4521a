package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.PolicyMapModel;
import agent.policy.model.RandomPolicy;
import agent.policy.model.Verdict;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.RuleSpec;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Random rules with names whose addresses change: a name means the CIDRs of its addresses of the
 * moment.
 */
class RandomNamesTest {
  private static final int RULE_SETS = 600;
  private static final int PACKETS = 60;
  private static final List<String> NAMES = List.of("a.x.", "b.x.", "c1.y.", "c2.y.");
  private static final List<FqdnSpec> PEERS =
      List.of(
          new FqdnSpec("A.x", null),
          new FqdnSpec("c2.y.", null),
          new FqdnSpec(null, "*.x"),
          new FqdnSpec(null, "c*.y"),
          new FqdnSpec(null, "*"));

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(new PolicyContext().identities(identities).conclude());
  private final Map<String, Set<IpAddress>> resolved = new TreeMap<>();
  private List<PolicyEntry> written = List.of();
  private int allowed;

  @Test
  void shouldGiveTheVerdictOfTheAddressesOfTheMoment() {
    for (int seed = 0; seed < RULE_SETS; seed++) {
      final RandomPolicy random = new RandomPolicy(seed);
      final Identity web = identities.acquire(random.labels()).join();
      final List<RuleSpec> rules =
          changed(random.rules(), element -> element.cidrs() == null ? element : named(random));
      carryOut(engine.endpointSet(1, web));
      carryOut(add(engine, rules, false));
      for (int i = 0; i < PACKETS; i++) {
        if (random.below(4) == 0) {
          resolve(random);
        }
        check(seed, random, web, rules);
      }
      carryOut(delete(engine, List.of()));
      assertEquals(List.of(), engine.cidrIdentities(), "seed " + seed + ": identities are left");
      carryOut(engine.endpointRemoved(1));
      written = List.of();
      identities.release(web.id()).join();
      carryOut(engine.refresh());
    }
    assertTrue(allowed > 1000, "allowed: " + allowed);
  }

  private static PeerRuleSpec named(RandomPolicy random) {
    return new PeerRuleSpec(
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        List.of(random.pick(PEERS), random.pick(PEERS)));
  }

  /** Changes the elements of egress. */
  private static List<RuleSpec> changed(List<RuleSpec> rules, UnaryOperator<PeerRuleSpec> change) {
    return rules.stream()
        .map(
            rule ->
                new RuleSpec(
                    rule.endpointSelector(),
                    rule.ingress(),
                    rule.egress() == null ? null : rule.egress().stream().map(change).toList(),
                    rule.ingressDeny(),
                    rule.egressDeny(),
                    rule.labels(),
                    null))
        .toList();
  }

  private void resolve(RandomPolicy random) {
    final Map<String, Set<IpAddress>> change = new HashMap<>();
    for (int i = random.below(2); i >= 0; i--) {
      final Set<IpAddress> addresses = new TreeSet<>();
      for (int j = random.below(4); j > 0; j--) {
        addresses.add(random.someOutsideAddress());
      }
      change.put(random.pick(NAMES), addresses);
    }
    resolved.putAll(change);
    carryOut(engine.names(change));
  }

  /** Returns the element with the addresses that its names have now. */
  private PeerRuleSpec asCidrs(PeerRuleSpec element) {
    if (element.fqdns() == null) {
      return element;
    }
    final List<String> cidrs = new ArrayList<>();
    for (final FqdnSpec names : element.fqdns()) {
      final String text = names.matchName() != null ? names.matchName() : names.matchPattern();
      final String plain = text.toLowerCase(Locale.ROOT).replaceAll("\\.$", "");
      final String regex =
          plain.equals("*") ? ".*" : plain.replace(".", "[.]").replace("*", "[-a-z0-9_]*") + "[.]";
      resolved.forEach(
          (name, addresses) -> {
            if (name.matches(regex)) {
              addresses.forEach(address -> cidrs.add(address.toString()));
            }
          });
    }
    return new PeerRuleSpec(null, null, cidrs, null, null, null, null, null, null);
  }

  private void carryOut(PolicyUpdate update) {
    assertEquals(Map.of(), update.failures());
    final List<EndpointPolicyChange> changes = new ArrayList<>(update.bridges());
    changes.addAll(update.endpoints());
    changes.addAll(update.cleanups());
    for (final EndpointPolicyChange change : changes) {
      final Map<PolicyEntry.Key, PolicyEntry> map = new HashMap<>();
      written.forEach(entry -> map.put(entry.key(), entry));
      change.diff().deletes().forEach(entry -> map.remove(entry.key()));
      change.diff().upserts().forEach(entry -> map.put(entry.key(), entry));
      written = map.values().stream().sorted().toList();
      assertEquals(change.policy().entries(), written);
    }
  }

  private void check(int seed, RandomPolicy random, Identity web, List<RuleSpec> rules) {
    final IpAddress address = random.someOutsideAddress();
    final int port = random.somePort();
    final Verdict expected =
        new NaivePolicy(changed(rules, this::asCidrs))
            .verdict(
                web.isReserved() ? LabelSet.EMPTY : web.labels(),
                false,
                NaivePeer.outside(address),
                6,
                port);
    final Verdict actual =
        new PolicyMapModel(written).verdict(identityOf(address), PolicyDirection.EGRESS, 6, port);
    allowed += expected == Verdict.ALLOWED ? 1 : 0;
    assertEquals(
        expected,
        actual,
        () ->
            "seed %d, to %s port %d%nrules %s%nnames %s%nentries %s"
                .formatted(seed, address, port, rules, resolved, written));
  }

  private int identityOf(IpAddress address) {
    Identity best = ReservedIdentity.world(address.isIpv4()).identity();
    int length = 0;
    for (final Identity identity : engine.cidrIdentities()) {
      final var cidr = identity.cidr().orElseThrow();
      if (cidr.contains(address) && cidr.length() > length) {
        best = identity;
        length = cidr.length();
      }
    }
    return best.id();
  }
}
