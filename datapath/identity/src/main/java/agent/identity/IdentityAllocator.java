package agent.identity;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.Optional;

/**
 * Gives identities to label sets and counts who has them. The same labels have the same identity
 * for as long as somebody has it. Any thread may read; changes come from one thread at a time.
 */
public interface IdentityAllocator {
  /**
   * The identity of an endpoint with these labels, with one reference more. No labels give {@link
   * ReservedIdentity#INIT}; the labels of a reserved identity give that one.
   *
   * @param labels the labels that count for identity, see {@link LabelFilter}
   * @return the identity
   * @throws Refusal EXHAUSTED where no number is free
   */
  Identity acquire(LabelSet labels);

  /**
   * As {@link #acquire}, with the number that the endpoint had before a restart.
   *
   * @param id the number
   * @param labels the labels
   * @return the identity
   * @throws Refusal CONFLICT where the number has other labels or the labels another number;
   *     INVALID where the number is not one for these labels
   */
  Identity restore(int id, LabelSet labels);

  /**
   * The identity of a CIDR, with one reference more: labels {@code cidr:prefix} and {@code
   * reserved:world}. A prefix of length 0 is {@link ReservedIdentity#WORLD_IPV4} or {@link
   * ReservedIdentity#WORLD_IPV6}.
   *
   * @param prefix the CIDR
   * @return the identity
   * @throws Refusal EXHAUSTED where no number is free
   */
  Identity acquireCidr(Prefix prefix);

  /**
   * As {@link #acquireCidr}, with the number that the CIDR had before a restart.
   *
   * @param id the number
   * @param prefix the CIDR
   * @return the identity
   * @throws Refusal CONFLICT or INVALID as {@link #restore}
   */
  Identity restoreCidr(int id, Prefix prefix);

  /**
   * Takes one reference back.
   *
   * @param id the identity's number
   * @return whether it was the last one
   * @throws Refusal NOT_FOUND where nobody has it
   */
  boolean release(int id);

  /** The identity with this number: reserved, or somebody has it. */
  Optional<Identity> find(int id);

  /** The identity of these labels, where somebody has it or it is reserved. */
  Optional<Identity> find(LabelSet labels);

  /** All identities by number, the reserved ones among them. */
  List<Identity> list();

  /** The identities that endpoints have, by number; not those of CIDRs. */
  List<IdentityInUse> inUse();

  /** Adds a listener; it is not told of what is there already. */
  void addListener(IdentityListener listener);
}
