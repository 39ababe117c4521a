package agent.node;

import agent.bindings.BindingsException;
import agent.node.netlink.RouteNetlink;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.function.Function;

/** Runs a task in an rtnetlink session, in the network namespace of the calling thread. */
final class NetlinkCall {
  private NetlinkCall() {}

  /**
   * Runs a task in a new session.
   *
   * @throws Refusal FAILED with the operation and the kernel's error
   */
  static <T> T run(Function<RouteNetlink, T> task) {
    try (RouteNetlink netlink = RouteNetlink.open()) {
      return task.apply(netlink);
    } catch (BindingsException failure) {
      throw new OperationException(failure.getMessage(), failure);
    }
  }
}
