package agent.identity;

/**
 * Hears of identities that appear and go. It is called on any thread, by one allocator for one
 * event at a time: the next one follows when the call returns. So it must be short, must not wait
 * for the allocator and must not throw. For one number, added and removed alternate.
 */
public interface IdentityListener {
  /** An identity is known from now on. */
  void onIdentityAdded(Identity identity);

  /** An identity is gone; its number is not given to other labels for long. */
  void onIdentityRemoved(Identity identity);
}
