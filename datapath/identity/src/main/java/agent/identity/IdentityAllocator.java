package agent.identity;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.types.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Allocates identities for the label sets of endpoints and counts the references of this node. The
 * same labels have the same identity on every node that shares the store, for as long as one of
 * them has a reference. The store may be in this process or on the network.
 *
 * <p>Changes:
 *
 * <ul>
 *   <li>Any thread may call. No method waits for the store, and none throws what the store answers:
 *       the future completes with it.
 *   <li>A future may be complete when the method returns, or complete later on any thread. What is
 *       chained to it must be short or go to another thread.
 *   <li>A future completes exceptionally with the {@link Refusal} that its method names, with
 *       Refusal UNAVAILABLE where the store cannot be reached (the caller may try again), or with
 *       an {@link agent.types.OperationException} where the store failed. Then no reference was
 *       taken.
 *   <li>Every listener has heard of an identity before the future of any {@link #acquire} or {@link
 *       #restore} completes with it.
 *   <li>Changes of one caller take effect in the order of the calls.
 * </ul>
 *
 * <p>Listeners hear of identities that appear and go on any node, with or without a reference of
 * this one. They hear that an identity is gone when no node has a reference any more; that may be
 * after the future of the last {@link #release} has completed.
 */
public interface IdentityAllocator extends IdentityDirectory {
  /**
   * Acquires one reference to the identity of an endpoint with these labels. No labels give {@link
   * ReservedIdentity#INIT}; the labels of a reserved identity give that one.
   *
   * @param labels the labels that count for identity, see {@link LabelFilter}
   * @return the identity; or Refusal EXHAUSTED where no number is free
   */
  CompletableFuture<Identity> acquire(LabelSet labels);

  /**
   * As {@link #acquire}, with the number that the endpoint had in the previous run of the agent.
   *
   * @param id the number
   * @param labels the labels
   * @return the identity; or Refusal CONFLICT where the number has other labels or the labels
   *     another number, INVALID where the number is not one for these labels
   */
  CompletableFuture<Identity> restore(int id, LabelSet labels);

  /**
   * Releases one reference of this node. The implementation repeats what fails in the store: the
   * future does not fail because of it.
   *
   * @param id the identity's number
   * @return whether it was this node's last reference; or Refusal NOT_FOUND where this node has
   *     none
   */
  CompletableFuture<Boolean> release(int id);

  /** Returns the identity of these labels, where it is known or reserved. */
  Optional<Identity> find(LabelSet labels);

  /**
   * Returns the identities that endpoints of this node have, by number; an unmodifiable snapshot.
   */
  List<IdentityInUse> inUse();
}
