package agent.policy.repository;

import agent.policy.read.RuleReader;
import agent.policy.spec.RuleSpec;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * What a store holds for this run. A state with a part that is not valid is not used at all: the
 * rest of the rules could allow what the missing part forbids.
 *
 * @param state the rules; the initial state where there are none or they cannot be read
 * @param unreadable the sentence that says why they cannot be read and what to do, or null
 */
public record StoredPolicy(PolicyState state, String unreadable) {
  private static final Logger LOGGER = LogManager.getLogger(StoredPolicy.class);
  private static final PolicyState EMPTY = new PolicyState(1, List.of(), List.of());
  private static final int MOST_LISTED = 3;

  /** Reads a store. */
  public static StoredPolicy of(PolicyStore store) {
    try {
      return new StoredPolicy(store.load(StoredPolicy::check).orElse(EMPTY), null);
    } catch (UnreadableStateException e) {
      LOGGER.error("{}", e.getMessage());
      return new StoredPolicy(EMPTY, e.getMessage());
    }
  }

  /**
   * Checks every part of a state.
   *
   * @throws Refusal INVALID with the first problems
   */
  private static void check(PolicyState state) {
    final List<String> problems = new ArrayList<>();
    if (state.revision() < 1) {
      problems.add("revision: " + state.revision() + " is not above 0");
    }
    checkRules(state.rules(), problems);
    checkNumbers(state.cidrIdentities(), problems);
    if (!problems.isEmpty()) {
      final int unlisted = problems.size() - MOST_LISTED;
      throw Refusal.invalid(
          "",
          String.join("; ", problems.subList(0, Math.min(MOST_LISTED, problems.size())))
              + (unlisted > 0 ? "; and " + unlisted + " more" : ""));
    }
  }

  private static void checkRules(List<RuleSpec> specs, List<String> problems) {
    if (specs == null) {
      problems.add("rules: is missing");
      return;
    }
    for (int i = 0; i < specs.size(); i++) {
      try {
        RuleReader.read(i, specs.get(i));
      } catch (Refusal refusal) {
        problems.add("rules" + refusal.getMessage());
      }
    }
  }

  private static void checkNumbers(List<PolicyState.CidrIdentity> stored, List<String> problems) {
    if (stored == null) {
      problems.add("cidrIdentities: is missing");
      return;
    }
    for (int i = 0; i < stored.size(); i++) {
      try {
        Prefix.parse(RuleReader.present("cidrIdentities[" + i + "]", stored.get(i)).cidr());
      } catch (Refusal refusal) {
        problems.add(refusal.at("cidrIdentities[" + i + "]").getMessage());
      }
    }
  }
}
