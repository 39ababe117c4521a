package agent.endpoint.state;

import agent.conductor.ConductorAgent;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/**
 * Stores records of endpoints beside the conductor, so that the conductor does not wait for the
 * disk: what is returned completes on the conductor's thread when the record is durable, in the
 * order of the calls. Runs on the conductor's thread.
 */
public final class EndpointRecordWriter {
  private final EndpointStore store;
  private final Function<Runnable, CompletableFuture<Void>> storing;
  private final ConductorAgent conductor;

  /**
   * Creates the writer of a store.
   *
   * @param storing runs writes to the store; its future completes when they are durable
   */
  public EndpointRecordWriter(
      EndpointStore store,
      Function<Runnable, CompletableFuture<Void>> storing,
      ConductorAgent conductor) {
    this.store = store;
    this.storing = storing;
    this.conductor = conductor;
  }

  /** Returns the store, to read it. */
  public EndpointStore store() {
    return store;
  }

  /** Saves a record; replaces the one with the same id. */
  public CompletableFuture<Void> save(EndpointRecord record) {
    return onConductor(storing.apply(() -> store.save(record)));
  }

  /** Removes a record, if it exists. */
  public CompletableFuture<Void> remove(int id) {
    return onConductor(storing.apply(() -> store.remove(id)));
  }

  /** Returns whether {@link #checkWritable} is to be asked. */
  public boolean isFailing() {
    return store.isFailing();
  }

  /** Fails where this record, which is saved, cannot be saved now. */
  public CompletableFuture<Void> checkWritable(EndpointRecord saved) {
    return onConductor(storing.apply(() -> store.checkWritable(saved)));
  }

  /** Returns a future that completes as another one does, on the conductor's thread. */
  public CompletableFuture<Void> onConductor(CompletableFuture<Void> written) {
    return written
        .handle((done, failure) -> failure)
        .thenCompose(failure -> conductor.run(() -> requireNone(failure)));
  }

  private static void requireNone(Throwable failure) {
    final Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause != null) {
      throw cause instanceof RuntimeException known ? known : new CompletionException(cause);
    }
  }
}
