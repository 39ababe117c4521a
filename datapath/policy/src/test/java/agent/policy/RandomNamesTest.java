package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.identityOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.PolicyMapModel;
import agent.policy.model.RandomPolicy;
import agent.policy.model.Verdict;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RuleSpec;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

/**
 * Random rules with CIDRs, names and services whose addresses change: they mean the CIDRs of their
 * addresses of the moment. No step of a change allows or drops what is the same before and after.
 */
class RandomNamesTest {
  private static final int RULE_SETS = 600;
  private static final int PACKETS = 60;
  private static final int WATCHED = 12;
  private static final int[] PORTS = {80, 443};
  private static final List<String> NAMES = List.of("a.x.", "b.x.", "c1.y.", "c2.y.");
  private static final List<FqdnSpec> PEERS =
      List.of(
          new FqdnSpec("A.x", null),
          new FqdnSpec("c2.y.", null),
          new FqdnSpec(null, "*.x"),
          new FqdnSpec(null, "**.x"),
          new FqdnSpec(null, "c*.y"),
          new FqdnSpec(null, "*"));

  private static final List<ServiceSpec> SERVICES =
      List.of(new ServiceSpec("a", "x"), new ServiceSpec("a", ""), new ServiceSpec("b", "x"));

  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext().identities(identities).cidrIdentities(cidrIdentities).conclude());
  private final Map<String, Set<IpAddress>> resolved = new TreeMap<>();
  private final Map<ServiceSpec, Set<IpAddress>> backends = new HashMap<>();
  private List<PolicyEntry> written = List.of();
  private final Map<Prefix, Integer> ipcache = new TreeMap<>();
  private final List<IpAddress> watched = new ArrayList<>();
  private int allowed;
  private int denied;

  @Test
  void shouldGiveTheVerdictOfTheAddressesOfTheMoment() {
    for (int seed = 0; seed < RULE_SETS; seed++) {
      final RandomPolicy random = new RandomPolicy(seed);
      final Identity web = identities.acquire(random.labels()).join();
      final List<RuleSpec> rules =
          changed(random.rules(), (element, isDeny) -> named(random, element, isDeny));
      watched.clear();
      for (int i = 0; i < WATCHED; i++) {
        watched.add(random.someOutsideAddress());
      }
      carryOut(engine.endpointSet(1, web, List.of()));
      final List<RuleSpec> present = new ArrayList<>();
      for (int i = 0; i < PACKETS; i++) {
        if (random.below(6) == 0 && !rules.isEmpty()) {
          change(random, rules, present);
        }
        if (random.below(4) == 0) {
          resolve(random);
        }
        if (random.below(4) == 0) {
          carryOut(engine.refresh());
        }
        // Resolved for the changed addresses alone, and all of it once more.
        assertEquals(engine.wanted(web, List.of()).at(0), engine.policyOf(1).orElseThrow().at(0));
        check(seed, random, web, present);
      }
      carryOut(delete(engine, List.of()));
      assertEquals(Map.of(), engine.outsidePrefixes(), "seed " + seed + ": identities are left");
      assertEquals(Map.of(), ipcache);
      assertEquals(0, cidrIdentities.list().stream().filter(Identity::isLocal).count());
      carryOut(engine.endpointRemoved(1));
      written = List.of();
      identities.release(web.id()).join();
      carryOut(engine.refresh());
    }
    assertTrue(allowed > 1000 && denied > 1000, "allowed: " + allowed + ", denied: " + denied);
  }

  /** Adds a rule of them that is not present, or removes one that is. */
  private void change(RandomPolicy random, List<RuleSpec> rules, List<RuleSpec> present) {
    final int index = random.below(rules.size());
    final RuleSpec rule = RuleSpecs.named(rules.get(index), "n", "" + index);
    if (present.remove(rule)) {
      carryOut(delete(engine, List.of("n=" + index)));
    } else {
      present.add(rule);
      carryOut(add(engine, List.of(rule), false));
    }
  }

  /** Puts names or services in the place of most CIDRs. */
  private static PeerRuleSpec named(RandomPolicy random, PeerRuleSpec element, boolean isDeny) {
    if (element.cidrs() == null || random.below(4) == 0) {
      return element;
    }
    return isDeny || random.below(2) == 0
        ? peers(element, null, null, List.of(random.pick(SERVICES), random.pick(SERVICES)))
        : peers(element, null, List.of(random.pick(PEERS), random.pick(PEERS)), null);
  }

  private static PeerRuleSpec peers(
      PeerRuleSpec element, List<String> cidrs, List<FqdnSpec> names, List<ServiceSpec> services) {
    return new PeerRuleSpec(
        null, null, cidrs, null, null, element.toPorts(), element.icmps(), null, names, services);
  }

  /** Changes the elements of egress; a second argument says whether it is of egressDeny. */
  private static List<RuleSpec> changed(
      List<RuleSpec> rules, BiFunction<PeerRuleSpec, Boolean, PeerRuleSpec> change) {
    return rules.stream()
        .map(
            rule ->
                new RuleSpec(
                    rule.endpointSelector(),
                    rule.ingress(),
                    changed(rule.egress(), false, change),
                    rule.ingressDeny(),
                    changed(rule.egressDeny(), true, change),
                    rule.labels(),
                    null))
        .toList();
  }

  private static List<PeerRuleSpec> changed(
      List<PeerRuleSpec> elements,
      boolean isDeny,
      BiFunction<PeerRuleSpec, Boolean, PeerRuleSpec> change) {
    return elements == null
        ? null
        : elements.stream().map(element -> change.apply(element, isDeny)).toList();
  }

  private void resolve(RandomPolicy random) {
    if (random.below(2) == 0) {
      final var change = change(random, NAMES);
      resolved.putAll(change);
      carryOut(engine.names(change));
    } else {
      final var change = change(random, SERVICES);
      backends.putAll(change);
      final Map<ServiceName, Set<IpAddress>> changed = new HashMap<>();
      change.forEach((service, addresses) -> changed.put(nameOf(service), addresses));
      carryOut(engine.services(changed));
    }
  }

  private static ServiceName nameOf(ServiceSpec service) {
    return new ServiceName(service.name(), service.namespace());
  }

  private static <T> Map<T, Set<IpAddress>> change(RandomPolicy random, List<T> names) {
    final Map<T, Set<IpAddress>> change = new HashMap<>();
    for (int i = random.below(2); i >= 0; i--) {
      final Set<IpAddress> addresses = new TreeSet<>();
      for (int j = random.below(4); j > 0; j--) {
        addresses.add(random.someOutsideAddress());
      }
      change.put(random.pick(names), addresses);
    }
    return change;
  }

  /** Returns the element with the addresses that its names or services have now. */
  private PeerRuleSpec asCidrs(PeerRuleSpec element) {
    if (element.fqdns() == null && element.services() == null) {
      return element;
    }
    final List<String> cidrs = new ArrayList<>();
    if (element.fqdns() != null) {
      element.fqdns().forEach(names -> addAddresses(names, cidrs));
    } else {
      for (final ServiceSpec service : element.services()) {
        backends.getOrDefault(service, Set.of()).forEach(one -> cidrs.add(one.toString()));
      }
    }
    return peers(element, cidrs, null, null);
  }

  private static String regexOf(String pattern) {
    return pattern.replace(".", "[.]").replace("*", "[-a-z0-9_]*") + "[.]";
  }

  private void addAddresses(FqdnSpec names, List<String> cidrs) {
    final String text = names.matchName() != null ? names.matchName() : names.matchPattern();
    final String plain = text.toLowerCase(Locale.ROOT).replaceAll("\\.$", "");
    final String regex =
        plain.equals("*")
            ? ".*"
            : plain.startsWith("**.")
                ? "([-a-z0-9_]+[.])+" + regexOf(plain.substring(3))
                : regexOf(plain);
    resolved.forEach(
        (name, addresses) -> {
          if (name.matches(regex)) {
            addresses.forEach(address -> cidrs.add(address.toString()));
          }
        });
  }

  private void carryOut(PolicyUpdate update) {
    assertEquals(Map.of(), update.failures());
    final List<Boolean> before = verdicts();
    final List<List<Boolean>> steps = new ArrayList<>();
    write(update.bridges(), steps);
    update.outside().added().entrySet().stream()
        .sorted(Comparator.comparingInt(added -> -added.getKey().length()))
        .forEach(
            added -> {
              ipcache.put(added.getKey(), added.getValue());
              steps.add(verdicts());
            });
    write(update.endpoints(), steps);
    ipcache.keySet().removeAll(update.outside().removed());
    steps.add(verdicts());
    write(update.cleanups(), steps);
    assertEquals(engine.outsidePrefixes(), ipcache);
    final List<Boolean> after = verdicts();
    for (final List<Boolean> step : steps) {
      for (int i = 0; i < step.size(); i++) {
        if (before.get(i) == after.get(i)) {
          assertEquals(before.get(i), step.get(i), watched.get(i / PORTS.length) + ", " + update);
        }
      }
    }
  }

  private void write(List<EndpointPolicyChange> changes, List<List<Boolean>> steps) {
    for (final EndpointPolicyChange change : changes) {
      final Map<PolicyEntry.Key, PolicyEntry> map = new HashMap<>();
      written.forEach(entry -> map.put(entry.key(), entry));
      change.diff().deletes().forEach(entry -> map.remove(entry.key()));
      change.diff().upserts().forEach(entry -> map.put(entry.key(), entry));
      written = map.values().stream().sorted().toList();
      assertEquals(change.policy().entries(), written);
    }
    steps.add(verdicts());
  }

  /** Returns for each address that is watched and each port whether it may be reached. */
  private List<Boolean> verdicts() {
    final PolicyMapModel map = new PolicyMapModel(written);
    final List<Boolean> verdicts = new ArrayList<>();
    for (final IpAddress address : watched) {
      final int identity = identityOf(ipcache, address);
      for (final int port : PORTS) {
        verdicts.add(map.verdict(identity, PolicyDirection.EGRESS, 6, port) == Verdict.ALLOWED);
      }
    }
    return verdicts;
  }

  private void check(int seed, RandomPolicy random, Identity web, List<RuleSpec> rules) {
    final IpAddress address = random.someOutsideAddress();
    final int port = random.somePort();
    final Verdict expected =
        new NaivePolicy(changed(rules, (element, isDeny) -> asCidrs(element)))
            .verdict(
                web.isReserved() ? LabelSet.EMPTY : web.labels(),
                false,
                NaivePeer.outside(address),
                6,
                port);
    final Verdict actual =
        new PolicyMapModel(written)
            .verdict(identityOf(ipcache, address), PolicyDirection.EGRESS, 6, port);
    allowed += expected == Verdict.ALLOWED ? 1 : 0;
    denied += expected == Verdict.DENIED ? 1 : 0;
    assertEquals(
        expected,
        actual,
        () ->
            "seed %d, to %s port %d%nrules %s%nnames %s%nservices %s%nentries %s"
                .formatted(seed, address, port, rules, resolved, backends, written));
  }
}
