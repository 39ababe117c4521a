package agent.identity;

import java.util.List;
import java.util.Optional;

/**
 * The identities that are known here. Reads answer at once from what is known; any thread may call.
 * The reserved identities are always known and never announced to listeners.
 */
public interface IdentityDirectory {
  /** Returns the identity with this number: a reserved one, or one that is known now. */
  Optional<Identity> find(int id);

  /**
   * Returns all known identities by number, the reserved ones among them; an unmodifiable snapshot.
   */
  List<Identity> list();

  /**
   * Adds a listener. It does not hear of identities that are known already: to miss none, add the
   * listener first and {@link #list} afterwards.
   *
   * @param listener called on any thread, see {@link IdentityListener}
   */
  void addListener(IdentityListener listener);

  /**
   * Returns the identities of two directories; the reserved ones are in it once.
   *
   * @param one a directory
   * @param other another directory, with other numbers
   * @return both
   */
  static IdentityDirectory union(IdentityDirectory one, IdentityDirectory other) {
    return new IdentityUnion(one, other);
  }

  /**
   * Hears of identities that appear and go. It is called on any thread, by one allocator for one
   * event at a time: the next one follows when the call returns. So it must be short, must not wait
   * for the allocator and must not throw. For one number, added and removed alternate.
   */
  interface IdentityListener {
    /** An identity is known from now on. */
    void onIdentityAdded(Identity identity);

    /** An identity is gone; its number is not given to other labels for long. */
    void onIdentityRemoved(Identity identity);
  }

  /**
   * An identity that local endpoints have.
   *
   * @param identity the identity
   * @param refCount how many local endpoints have it; greater than 0
   */
  record IdentityInUse(Identity identity, int refCount) {}
}
