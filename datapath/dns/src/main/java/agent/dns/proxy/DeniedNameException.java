package agent.dns.proxy;

import java.io.Serial;

/** No rule lets the endpoint ask for the name any more: it is answered as one that is denied. */
public final class DeniedNameException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /** Creates it. */
  public DeniedNameException() {
    super("no rule allows the endpoint to look up the name");
  }
}
