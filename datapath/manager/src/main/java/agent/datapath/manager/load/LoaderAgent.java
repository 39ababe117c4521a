package agent.datapath.manager.load;

import agent.bindings.BpfObject;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.thread.ConductorAgent;
import java.util.concurrent.CompletableFuture;
import org.agrona.concurrent.NanoClock;

/**
 * The agent {@code dp-loader}: loads BPF objects, which runs the verifier, and compiles them where
 * the feature set requires it. It attaches no program and writes no map.
 */
public final class LoaderAgent extends ConductorAgent {
  private final ProgramLoader loader;
  private final NodeConstants node;
  private CompletableFuture<BpfObject> closed;

  /**
   * Creates the agent without starting its thread.
   *
   * @param loader used only by this agent's thread as soon as the thread runs
   */
  public LoaderAgent(NanoClock clock, ProgramLoader loader, NodeConstants node) {
    super("dp-loader", clock);
    this.loader = loader;
    this.node = node;
  }

  /** Loads programs that have only constants of the node; the caller closes them. */
  public CompletableFuture<BpfObject> load(ProgramFile program) {
    return submit(() -> loader.load(program, node::write));
  }

  /** Loads the programs of an endpoint; the caller closes them. For any thread. */
  public CompletableFuture<BpfObject> loadEndpoint(EndpointSpec endpoint) {
    return submit(
        () ->
            loader.load(
                ProgramFile.ENDPOINT,
                constants -> {
                  node.write(constants);
                  constants.endpoint(endpoint);
                }));
  }

  /**
   * Loads the programs that drop all packets, once; {@link #closeLoaded()} closes them. For the
   * conductor's thread.
   */
  public CompletableFuture<BpfObject> loadClosed() {
    if (closed == null || closed.isCompletedExceptionally()) {
      closed = load(ProgramFile.CLOSED);
    }
    return closed;
  }

  /** Closes the programs of {@link #loadClosed()} as soon as they are loaded. */
  public void closeLoaded() {
    if (closed != null) {
      closed.thenAccept(BpfObject::close);
    }
  }
}
