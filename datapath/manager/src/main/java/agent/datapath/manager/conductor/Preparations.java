package agent.datapath.manager.conductor;

import agent.bindings.BpfObject;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.load.LoaderAgent;
import agent.datapath.manager.spec.EndpointSpec;
import java.util.concurrent.CompletableFuture;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Programs of endpoints that {@code dp-loader} loads before their attachment. For the conductor's
 * thread.
 */
public final class Preparations implements AutoCloseable {
  /**
   * The preparation of one endpoint.
   *
   * @param endpoint the endpoint that will be attached
   * @param programs the loaded programs; the taker of the preparation closes them
   */
  record Preparation(EndpointSpec endpoint, CompletableFuture<BpfObject> programs) {
    /** Closes the programs as soon as they are loaded. */
    void drop() {
      programs.thenAccept(BpfObject::close);
    }
  }

  private final LoaderAgent loader;
  private final Int2ObjectHashMap<Preparation> preparations = new Int2ObjectHashMap<>();

  /** Creates an empty set of preparations. */
  public Preparations(LoaderAgent loader) {
    this.loader = loader;
  }

  /** Starts a preparation unless one for an equal endpoint exists. */
  void begin(EndpointSpec endpoint) {
    final Preparation before = preparations.get(endpoint.id());
    if (before == null || !before.endpoint().equals(endpoint)) {
      discard(endpoint.id());
      preparations.put(endpoint.id(), new Preparation(endpoint, loader.loadEndpoint(endpoint)));
    }
  }

  /** Removes and returns the preparation of this endpoint; starts one where none matches. */
  Preparation take(EndpointSpec endpoint) {
    begin(endpoint);
    return preparations.remove(endpoint.id());
  }

  /** Loads the programs of an endpoint again; the caller closes them. */
  CompletableFuture<BpfObject> load(EndpointSpec endpoint) {
    return loader.loadEndpoint(endpoint);
  }

  /** Returns the programs that drop all packets; this object closes them. */
  CompletableFuture<BpfObject> closedPrograms() {
    return loader.loadClosed();
  }

  /** Loads the programs that drop all packets again; the caller closes them. */
  CompletableFuture<BpfObject> loadClosed() {
    return loader.load(ProgramFile.CLOSED);
  }

  /** Discards a preparation. */
  void discard(int endpointId) {
    final Preparation preparation = preparations.remove(endpointId);
    if (preparation != null) {
      preparation.drop();
    }
  }

  @Override
  public void close() {
    preparations.values().forEach(Preparation::drop);
    preparations.clear();
    loader.closeLoaded();
  }
}
