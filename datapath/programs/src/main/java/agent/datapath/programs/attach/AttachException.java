package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.Errno;

/** A program cannot be attached to its hook or detached from it. */
public final class AttachException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  AttachException(String message, BindingsException causeOrNull) {
    super(message, causeOrNull);
  }

  AttachException(Attachment attachment, BindingsException cause) {
    this(attachment + ": " + cause.getMessage(), cause);
  }

  /** Returns whether the hook has the program of another, which is not removed. */
  public boolean isTaken() {
    return getCause() instanceof BindingsException cause
        && (cause.errno() == Errno.EBUSY || cause.errno() == Errno.EEXIST);
  }

  /** Returns whether the driver of the device does not have what was asked for. */
  public boolean isUnsupported() {
    return getCause() instanceof BindingsException cause && cause.errno() == Errno.EOPNOTSUPP;
  }
}
