package agent.bindings.net;

import agent.bindings.BindingsException;
import agent.bindings.Errno;

/**
 * Reports a netlink request that the kernel refused or did not answer, or an answer that cannot be
 * decoded. The message names the operation, the error and, if present, the kernel's explanation
 * (NLMSGERR_ATTR_MSG of {@code linux/netlink.h}).
 */
public final class NetlinkException extends BindingsException {
  private static final long serialVersionUID = 1L;

  private final String explanation;

  NetlinkException(String operation, int errno, String explanation) {
    super(operation, errno);
    this.explanation = explanation;
  }

  /**
   * Creates the exception of a message or attribute with inconsistent lengths or values.
   *
   * @param what the part of the message and its numbers
   * @return the exception, with errno EBADMSG
   */
  public static NetlinkException malformed(String what) {
    return new NetlinkException("netlink message", Errno.EBADMSG, what);
  }

  @Override
  public String getMessage() {
    return explanation.isEmpty() ? super.getMessage() : super.getMessage() + ": " + explanation;
  }
}
