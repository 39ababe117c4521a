package agent.policy;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.types.Prefix;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Selects by labels. As a peer selector it applies to endpoints (cluster identities, those with
 * chosen numbers, {@code init}, {@code health} and {@code unmanaged}), so that neither {@code {}}
 * nor {@code NotIn} selects the world or a node; only a selector that requires a label of source
 * {@code reserved} or {@code cidr} applies to every identity.
 */
public final class LabelSelector implements PeerSelector {
  /** The selector {@code {}}. */
  public static final LabelSelector ALL = new LabelSelector(List.of());

  private final List<Requirement> requirements;
  private final boolean endpointsOnly;
  private final int hash;

  LabelSelector(List<Requirement> requirements) {
    this.requirements = requirements.stream().distinct().sorted().toList();
    hash = this.requirements.hashCode();
    endpointsOnly = requirements.stream().noneMatch(Requirement::asksForReserved);
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
    return (!endpointsOnly || isEndpoint(identity)) && selects(labelsOf(identity));
  }

  /** Returns the prefixes whose labels it names. */
  List<Prefix> prefixes() {
    return endpointsOnly
        ? List.of()
        : requirements.stream().flatMap(requirement -> requirement.prefix().stream()).toList();
  }

  private static boolean isEndpoint(Identity identity) {
    return identity.isCluster()
        || identity.isFixed()
        || identity.id() == ReservedIdentity.INIT.id()
        || identity.id() == ReservedIdentity.HEALTH.id()
        || identity.id() == ReservedIdentity.UNMANAGED.id();
  }

  /**
   * Returns the labels that selectors match: every world identity also has {@code reserved:world}
   * and the label of its family.
   */
  private static LabelSet labelsOf(Identity identity) {
    final LabelSet labels = identity.labels();
    if (identity.id() == ReservedIdentity.WORLD_IPV4.id()
        || identity.id() == ReservedIdentity.WORLD_IPV6.id()) {
      return labels.with(ReservedIdentity.WORLD.label());
    }
    return identity
        .cidr()
        .map(cidr -> labels.with(ReservedIdentity.world(cidr.isIpv4()).label()))
        .orElse(labels);
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
