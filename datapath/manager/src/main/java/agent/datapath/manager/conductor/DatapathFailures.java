package agent.datapath.manager.conductor;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.LoadException;
import agent.maps.kernel.BpfMapException;
import agent.types.Refusal;

/** Turns what the lower modules throw into what callers of the proxy get. */
public final class DatapathFailures {
  private DatapathFailures() {}

  /** The failure as a refusal: EXHAUSTED where something is full, FAILED otherwise. */
  public static Refusal refusal(Throwable failure) {
    return switch (failure) {
      case Refusal refusal -> refusal;
      case LoadException load ->
          Refusal.of(
              Refusal.Kind.FAILED,
              "",
              load.log().isEmpty() ? load.getMessage() : load.getMessage() + "\n" + load.log(),
              load);
      case BindingsException call -> of(call.errno(), call);
      case BpfMapException map -> of(map.errno(), map);
      default -> Refusal.of(Refusal.Kind.FAILED, "", message(failure), failure);
    };
  }

  private static Refusal of(int errno, RuntimeException failure) {
    final boolean isFull = errno == Errno.ENOSPC || errno == Errno.E2BIG || errno == Errno.ENOMEM;
    return Refusal.of(
        isFull ? Refusal.Kind.EXHAUSTED : Refusal.Kind.FAILED, "", failure.getMessage(), failure);
  }

  private static String message(Throwable failure) {
    return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
  }
}
