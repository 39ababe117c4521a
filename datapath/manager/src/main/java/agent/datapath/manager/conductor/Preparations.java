package agent.datapath.manager.conductor;

import agent.bindings.BpfObject;
import agent.datapath.manager.attach.EndpointAttachments;
import agent.datapath.manager.load.LoaderAgent;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.thread.StepSequence;
import java.util.concurrent.CompletableFuture;
import org.agrona.collections.Int2ObjectHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Starts the slow parts of an attachment in advance: {@code dp-loader} loads the programs of the
 * endpoint while the conductor attaches programs that drop all packets to the hooks of a new
 * endpoint, which takes one RCU grace period per link. For the conductor's thread.
 */
public final class Preparations implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Preparations.class);

  /**
   * The preparation of one endpoint.
   *
   * @param endpoint the endpoint that will be attached
   * @param programs the loaded programs; the taker of the preparation closes them
   * @param closing true where dropping programs were attached to its hooks; never completes
   *     exceptionally
   */
  record Preparation(
      EndpointSpec endpoint,
      CompletableFuture<BpfObject> programs,
      CompletableFuture<Boolean> closing) {
    boolean isClosed() {
      return closing.getNow(false);
    }

    /** Closes the programs as soon as they are loaded. */
    void drop() {
      programs.thenAccept(BpfObject::close);
    }
  }

  private final DatapathConductor conductor;
  private final LoaderAgent loader;
  private final EndpointAttachments attachments;
  private final Int2ObjectHashMap<Preparation> preparations = new Int2ObjectHashMap<>();

  /** Creates an empty set of preparations. */
  public Preparations(
      DatapathConductor conductor, LoaderAgent loader, EndpointAttachments attachments) {
    this.conductor = conductor;
    this.loader = loader;
    this.attachments = attachments;
  }

  /**
   * Starts a preparation unless one for an equal endpoint exists.
   *
   * @param isNew whether the endpoint has no entry yet; its packets are then dropped until it is
   *     attached
   */
  void begin(EndpointSpec endpoint, boolean isNew) {
    final Preparation before = preparations.get(endpoint.id());
    if (before == null || !before.endpoint().equals(endpoint)) {
      final CompletableFuture<Boolean> closing =
          before == null ? close(endpoint, isNew) : before.closing();
      discard(endpoint.id());
      preparations.put(
          endpoint.id(), new Preparation(endpoint, loader.loadEndpoint(endpoint), closing));
    }
  }

  /** Removes and returns the preparation of this endpoint; starts one where none matches. */
  Preparation take(EndpointSpec endpoint, boolean isNew) {
    begin(endpoint, isNew);
    return preparations.remove(endpoint.id());
  }

  /** Discards a preparation. Dropping programs that are attached to the hooks stay attached. */
  void discard(int endpointId) {
    final Preparation preparation = preparations.remove(endpointId);
    if (preparation != null) {
      preparation.drop();
    }
  }

  private CompletableFuture<Boolean> close(EndpointSpec endpoint, boolean isNew) {
    if (!isNew || !attachments.canClose(endpoint)) {
      return CompletableFuture.completedFuture(false);
    }
    final CompletableFuture<BpfObject> closed = loader.loadClosed();
    final CompletableFuture<Boolean> closing = new CompletableFuture<>();
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(() -> closed)
            .then(() -> attachments.close(endpoint, true, closed.join()))
            .then(() -> attachments.close(endpoint, false, closed.join()))
            .onDone(() -> closing.complete(true))
            .onFailure(
                failure -> {
                  // The attachment that follows fails for the same reason and reports it.
                  LOGGER.debug(
                      "endpoint {}: dropping programs are not attached", endpoint.id(), failure);
                  attachments.open(endpoint);
                  closing.complete(false);
                }));
    return closing;
  }

  @Override
  public void close() {
    preparations.values().forEach(Preparation::drop);
    preparations.clear();
    loader.closeLoaded();
  }
}
