package agent.maps.btf;

/** An object or its BTF that cannot be read, or is not what the agent needs. */
public final class BtfException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public BtfException(String message) {
    super(message);
  }
}
