package agent.server;

import java.io.IOException;

/** A body is larger than the agent takes. */
final class BodyTooLargeException extends IOException {
  private static final long serialVersionUID = 1L;

  BodyTooLargeException(long maxBytes) {
    super("body: larger than " + maxBytes + " bytes");
  }
}
