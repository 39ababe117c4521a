package agent.endpoint;

import java.util.concurrent.CompletableFuture;

/** Owns the endpoints of this node. */
public final class EndpointConductor implements AutoCloseable {
  private EndpointConductor() {}

  /**
   * Starts it; nothing is restored yet.
   *
   * @param context concluded
   * @return the conductor
   */
  public static EndpointConductor launch(EndpointContext context) {
    throw new UnsupportedOperationException();
  }

  /**
   * Takes up the endpoints of an earlier life, and starts the periodic work. To be called once,
   * before anything else is asked.
   *
   * @return completes when every endpoint that is left enforces its policy or says why not
   */
  public CompletableFuture<RestoreReport> restore() {
    throw new UnsupportedOperationException();
  }

  /** The endpoints. */
  public Endpoints endpoints() {
    throw new UnsupportedOperationException();
  }

  /** The policy. */
  public PolicyService policy() {
    throw new UnsupportedOperationException();
  }

  /** Ends the thread after what is queued; what is enforced stays enforced. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
