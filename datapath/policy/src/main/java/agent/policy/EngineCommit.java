package agent.policy;

import agent.policy.rule.PeerSelector;
import java.util.Set;

/** A commit that the engine carries out: under its lock, it hears of what changes meanwhile. */
interface EngineCommit extends PolicyCommitting {
  /** Follows that selectors select other identities than before. */
  void changed(Set<PeerSelector> selectors);
}
