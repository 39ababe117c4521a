package agent.policy.rule;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Selects by labels. As a peer selector it applies to endpoints (cluster identities, those with
 * chosen numbers, {@code init}, {@code health} and {@code unmanaged}) alone: never to the world, to
 * a node or to names, which entities and other peers mean.
 */
public final class LabelSelector implements PeerSelector {
  /** The selector {@code {}}. */
  public static final LabelSelector ALL = new LabelSelector(List.of());

  private final List<Requirement> requirements;
  private final int hash;

  /** Creates a selector of what meets all requirements. */
  public LabelSelector(List<Requirement> requirements) {
    this.requirements = requirements.stream().distinct().sorted().toList();
    hash = this.requirements.hashCode();
  }

  /** Returns whether an endpoint with these labels is selected. */
  public boolean selects(LabelSet labels) {
    for (final Requirement requirement : requirements) {
      if (!requirement.isMetBy(labels)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean selects(Identity identity) {
    return isEndpoint(identity) && selects(identity.labels());
  }

  private static boolean isEndpoint(Identity identity) {
    return identity.isCluster()
        || identity.isFixed()
        || identity.id() == ReservedIdentity.INIT.id()
        || identity.id() == ReservedIdentity.HEALTH.id()
        || identity.id() == ReservedIdentity.UNMANAGED.id();
  }

  @Override
  public String text() {
    return requirements.isEmpty()
        ? "{}"
        : requirements.stream().map(Requirement::text).collect(Collectors.joining(", "));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LabelSelector that && requirements.equals(that.requirements);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return text();
  }
}
