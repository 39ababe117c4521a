package agent.policy;

import agent.policy.rule.PeerSelector;
import java.util.Set;

/** A commit that follows identities which come and go between its steps. */
interface IdentityFollower extends PolicyCommitting {
  /** Follows that selectors select other identities than before. */
  void changed(Set<PeerSelector> selectors);
}
