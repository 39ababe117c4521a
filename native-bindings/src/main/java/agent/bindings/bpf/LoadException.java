package agent.bindings.bpf;

import agent.bindings.BindingsException;

/**
 * Reports an object that libbpf or the verifier refused; contains the last lines of their messages.
 */
public final class LoadException extends BindingsException {
  private static final long serialVersionUID = 1L;

  private final String log;

  LoadException(String operation, int errno, String log) {
    super(log.isEmpty() ? operation : operation + " (" + lastLine(log) + ")", errno);
    this.log = log;
  }

  /**
   * Returns the last lines of libbpf's messages and of the verifier log, at most 40; may be empty.
   */
  public String log() {
    return log;
  }

  private static String lastLine(String log) {
    return log.substring(log.lastIndexOf('\n') + 1);
  }
}
