package agent.datapath.manager.conductor;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.LoadException;
import agent.maps.kernel.BpfMapException;
import agent.types.OperationException;
import agent.types.Refusal;

/** Translates exceptions of the bindings and maps modules into those that the proxies document. */
public final class DatapathFailures {
  private DatapathFailures() {}

  /**
   * Translates a failure: returns a {@link Refusal} or {@link OperationException} unchanged, a
   * {@link Refusal} EXHAUSTED for ENOSPC, E2BIG and ENOMEM, and an {@link OperationException}
   * otherwise.
   */
  public static RuntimeException refusal(Throwable failure) {
    return switch (failure) {
      case Refusal refusal -> refusal;
      case OperationException operation -> operation;
      case LoadException load ->
          new OperationException(
              load.log().isEmpty() ? load.getMessage() : load.getMessage() + "\n" + load.log(),
              load);
      case BindingsException call -> of(call.errno(), call);
      case BpfMapException map -> of(map.errno(), map);
      default -> new OperationException(message(failure), failure);
    };
  }

  private static RuntimeException of(int errno, RuntimeException failure) {
    final boolean isFull = errno == Errno.ENOSPC || errno == Errno.E2BIG || errno == Errno.ENOMEM;
    return isFull
        ? Refusal.of(Refusal.Kind.EXHAUSTED, "", failure.getMessage(), failure)
        : new OperationException(failure.getMessage(), failure);
  }

  private static String message(Throwable failure) {
    return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
  }
}
