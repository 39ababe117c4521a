package agent.identity;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.Optional;

/**
 * Allocates identities for CIDRs and to the addresses of names, and counts the references. They are
 * local to the node and never shared, so that every answer is there at once. Any thread may read;
 * changes come from one thread at a time, and listeners hear of them on it before the method
 * returns.
 */
public interface CidrIdentityAllocator extends IdentityDirectory {
  /**
   * Acquires one reference to the identity of a CIDR: labels {@code cidr:prefix} and {@code
   * reserved:world}. A prefix of length 0 has {@link ReservedIdentity#WORLD_IPV4} or {@link
   * ReservedIdentity#WORLD_IPV6}.
   *
   * @param prefix the CIDR
   * @return the identity
   * @throws Refusal EXHAUSTED where no number is free
   */
  Identity acquire(Prefix prefix);

  /**
   * As {@link #acquire(Prefix)}, with the number that the CIDR had in the previous run of the
   * agent.
   *
   * @param id the number
   * @param prefix the CIDR
   * @return the identity
   * @throws Refusal CONFLICT where the number has another prefix or the prefix another number,
   *     INVALID where the number is not one for CIDRs
   */
  Identity restore(int id, Prefix prefix);

  /**
   * Acquires one reference to the identity of labels.
   *
   * @param labels as {@link LabelSet#ofNames} gives them for addresses that names have in common,
   *     or {@link LabelSet#ofCidr} for those of a CIDR
   * @return the identity
   * @throws Refusal EXHAUSTED where no number is free
   */
  Identity acquire(LabelSet labels);

  /**
   * As {@link #acquire(LabelSet)}, with a number of the previous run of the agent.
   *
   * @param id the number
   * @param labels as of {@link #acquire(LabelSet)}
   * @return the identity
   * @throws Refusal as of {@link #restore(int, Prefix)}
   */
  Identity restore(int id, LabelSet labels);

  /**
   * Releases one reference.
   *
   * @param id the identity's number
   * @return whether it was the last one
   * @throws Refusal NOT_FOUND where there is no reference
   */
  boolean release(int id);

  /** Returns the identity of a CIDR, where there is a reference to it or it is reserved. */
  Optional<Identity> find(Prefix prefix);
}
