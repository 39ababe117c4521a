package agent.identity;

import agent.types.Prefix;
import java.util.Objects;
import java.util.Optional;

/**
 * A security identity: a number for a set of labels; policy maps and the ipcache hold the number.
 *
 * @param id the number; ranges: 1 to 255 reserved, 256 to 65535 cluster, from 2^24 local to the
 *     node
 * @param labels its labels
 */
public record Identity(int id, LabelSet labels) implements Comparable<Identity> {
  /** The lowest identity whose number an operator may choose. */
  public static final int FIXED_MIN = 128;

  /** The highest identity whose number an operator may choose. */
  public static final int FIXED_MAX = 255;

  /** The lowest identity that is made from labels of endpoints. */
  public static final int CLUSTER_MIN = 256;

  /** The highest identity that is made from labels of endpoints. */
  public static final int CLUSTER_MAX = 65535;

  /** The lowest identity that is made from a CIDR or from names. */
  public static final int LOCAL_MIN = 1 << 24;

  /** The highest identity that is made from a CIDR or from names. */
  public static final int LOCAL_MAX = (1 << 25) - 1;

  /** Checks that there are labels. */
  public Identity {
    Objects.requireNonNull(labels, "labels");
  }

  /** Returns whether the number is one of {@link ReservedIdentity}'s range. */
  public boolean isReserved() {
    return id > 0 && id < CLUSTER_MIN;
  }

  /** Returns whether it is made from labels of endpoints. */
  public boolean isCluster() {
    return id >= CLUSTER_MIN && id <= CLUSTER_MAX;
  }

  /** Returns whether an operator has chosen its number, see {@link FixedIdentities}. */
  public boolean isFixed() {
    return id >= FIXED_MIN && id <= FIXED_MAX;
  }

  /** Returns whether it is made from a CIDR or from names, and so known on this node only. */
  public boolean isLocal() {
    return id >= LOCAL_MIN;
  }

  /** Returns the CIDR that it is made from, if any. */
  public Optional<Prefix> cidr() {
    return isLocal() ? labels.cidr() : Optional.empty();
  }

  /**
   * Returns the prefix outside that all its addresses are in: the CIDR that it is made from, or all
   * addresses of the family of the names that it is made from; empty for an identity of neither.
   */
  public Optional<Prefix> outside() {
    return isLocal() ? labels.named().or(labels::cidr) : Optional.empty();
  }

  /** See {@link LabelSet#sha256()}. */
  public String labelsSha256() {
    return labels.sha256();
  }

  @Override
  public int compareTo(Identity other) {
    return Integer.compare(id, other.id);
  }
}
