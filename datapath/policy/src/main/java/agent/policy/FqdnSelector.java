package agent.policy;

import agent.identity.Identity;

/**
 * Selects the addresses that names have now. The names say nothing of an identity by itself: {@link
 * NameReferences} knows which addresses the selector has.
 *
 * @param pattern the names
 */
public record FqdnSelector(NamePattern pattern) implements PeerSelector {
  @Override
  public boolean selects(Identity identity) {
    return false;
  }

  @Override
  public String text() {
    return pattern.toString();
  }
}
