package agent.policy;

import agent.policy.spec.RuleSpec;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads the state of a store. A rule that is not valid any more is left out and the others stay,
 * because without them traffic that they forbid would be allowed.
 */
final class StoredPolicy {
  private static final PolicyState EMPTY = new PolicyState(1, List.of(), List.of());
  private static final int MOST_LISTED = 3;

  private final PolicyStore store;
  private final List<String> problems = new ArrayList<>();

  private StoredPolicy(PolicyStore store) {
    this.store = store;
  }

  /**
   * Reads a store. Where a part of the state is not valid, the store sets the whole aside, and the
   * rest is saved again.
   *
   * @param store the store
   * @return the valid part
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
      final int unlisted = problems.size() - MOST_LISTED;
      store.setAside(
          String.join("; ", problems.subList(0, Math.min(MOST_LISTED, problems.size())))
              + (unlisted > 0 ? "; and " + unlisted + " more" : ""));
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
