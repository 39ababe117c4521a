package agent.maps.btf;

/** Reports an object or BTF that cannot be read or lacks what the agent needs. */
public final class BtfException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public BtfException(String message) {
    super(message);
  }
}
