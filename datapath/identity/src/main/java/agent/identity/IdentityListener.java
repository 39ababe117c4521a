package agent.identity;

/** Hears of identities that appear and go, on the thread that acquired or released them. */
public interface IdentityListener {
  /** An identity has its first reference. */
  void onIdentityAdded(Identity identity);

  /** An identity lost its last reference; its number is not given to other labels for long. */
  void onIdentityRemoved(Identity identity);
}
