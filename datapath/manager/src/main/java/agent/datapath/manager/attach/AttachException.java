package agent.datapath.manager.attach;

import agent.bindings.Errno;

/** A program that could not be hung on its hook, or taken from it. */
public final class AttachException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  AttachException(String message) {
    super(message);
  }

  AttachException(Hook hook, String operation, int errno) {
    super(hook + ": " + operation + ": " + Errno.name(errno));
  }
}
