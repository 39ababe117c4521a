package agent.policy;

import agent.policy.spec.RuleSpec;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Takes up what a store holds. A rule that cannot be used any more is left out and the others stay:
 * without them, what they forbid would be allowed.
 */
final class StoredPolicy {
  private static final PolicyState EMPTY = new PolicyState(1, List.of(), List.of());
  private static final int MOST_TOLD = 3;

  private final PolicyStore store;
  private final List<String> problems = new ArrayList<>();

  private StoredPolicy(PolicyStore store) {
    this.store = store;
  }

  /**
   * Reads a store. Where a part of it cannot be used, the whole is set aside, and the rest of it
   * saved anew.
   *
   * @param store the store
   * @return what can be used
   */
  static PolicyState of(PolicyStore store) {
    final Optional<PolicyState> stored = store.load();
    return stored.isEmpty() ? EMPTY : new StoredPolicy(store).usable(stored.get());
  }

  private PolicyState usable(PolicyState stored) {
    final PolicyState state =
        new PolicyState(
            revision(stored.revision()), rules(stored.rules()), numbers(stored.cidrIdentities()));
    if (!problems.isEmpty()) {
      final int untold = problems.size() - MOST_TOLD;
      store.setAside(
          String.join("; ", problems.subList(0, Math.min(MOST_TOLD, problems.size())))
              + (untold > 0 ? "; and " + untold + " more" : ""));
      store.save(state);
    }
    return state;
  }

  private long revision(long revision) {
    if (revision < 1) {
      problems.add("revision: " + revision + " is not above 0");
    }
    return Math.max(1, revision);
  }

  private List<RuleSpec> rules(List<RuleSpec> specs) {
    final List<RuleSpec> usable = new ArrayList<>();
    if (specs == null) {
      problems.add("rules: is missing");
      return usable;
    }
    for (int i = 0; i < specs.size(); i++) {
      try {
        usable.add(RuleReader.read(i, specs.get(i)).spec());
      } catch (Refusal refusal) {
        problems.add("rules" + refusal.getMessage());
      }
    }
    return usable;
  }

  private List<PolicyState.CidrIdentity> numbers(List<PolicyState.CidrIdentity> stored) {
    final List<PolicyState.CidrIdentity> usable = new ArrayList<>();
    if (stored == null) {
      problems.add("cidrIdentities: is missing");
      return usable;
    }
    for (int i = 0; i < stored.size(); i++) {
      final PolicyState.CidrIdentity former = stored.get(i);
      try {
        Prefix.parse(RuleReader.present("cidrIdentities[" + i + "]", former).cidr());
        usable.add(former);
      } catch (Refusal refusal) {
        problems.add(refusal.at("cidrIdentities[" + i + "]").getMessage());
      }
    }
    return usable;
  }
}
