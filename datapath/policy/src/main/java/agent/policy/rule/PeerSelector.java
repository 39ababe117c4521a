package agent.policy.rule;

import agent.identity.Identity;

/** Selects peers by their identity. Two selectors that are equal select the same. */
public sealed interface PeerSelector permits LabelSelector, CidrSelector, Entity, NamedSelector {
  /** Returns whether the identity is selected. */
  boolean selects(Identity identity);

  /** Readable form, for listings and logs. */
  String text();
}
