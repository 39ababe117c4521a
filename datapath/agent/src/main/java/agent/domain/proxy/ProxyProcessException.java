package agent.domain.proxy;

/** The process of the proxies does not run or does not answer, whichever proxy is asked for. */
public final class ProxyProcessException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception with a sentence. */
  ProxyProcessException(String message) {
    super(message);
  }
}
