package agent.policy.rule;

import agent.identity.Identity;
import agent.identity.Label;

/**
 * Selects the addresses that names have now. The names say nothing of an identity by itself: {@code
 * NameReferences} knows which addresses the selector has.
 *
 * @param <N> a name
 */
public sealed interface NamedSelector<N> extends PeerSelector
    permits FqdnSelector, ServiceSelector {
  /** Returns whether a name is one of its names. */
  boolean matches(N name);

  /** Returns its only name; null where it has any number of names. */
  N onlyName();

  /** Returns whether its name can be that of a label, which no other selector has then. */
  boolean hasLabel();

  /** Returns the label of identities whose addresses it selects, where it has one. */
  Label label();

  @Override
  default boolean selects(Identity identity) {
    return false;
  }
}
