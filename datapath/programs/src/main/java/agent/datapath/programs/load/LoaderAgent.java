package agent.datapath.programs.load;

import agent.bindings.bpf.BpfObject;
import agent.conductor.ConductorAgent;
import agent.datapath.programs.attach.ClosedPrograms;
import agent.datapath.programs.compile.ProgramFile;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.agrona.concurrent.NanoClock;

/**
 * The agent {@code dp-loader}: loads BPF objects, which runs the verifier, and compiles them where
 * the feature set requires it. It attaches no program and writes no map.
 */
public final class LoaderAgent extends ConductorAgent implements AutoCloseable {
  private final ProgramLoader loader;
  private final NodeConstants node;
  private final Queue<BpfObject> replaced = new ConcurrentLinkedQueue<>();
  private CompletableFuture<BpfObject> endpointPrograms;

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

  /** Does what {@link #load} does for the launching thread, before this agent runs. */
  public BpfObject loadHere(ProgramFile program) {
    return loader.load(program, node::write);
  }

  /** Loads programs that have only constants of the node; the caller closes them. */
  public CompletableFuture<BpfObject> load(ProgramFile program) {
    return submit(() -> loader.load(program, node::write));
  }

  /** Loads the programs of the endpoints once more; the caller closes them. For any thread. */
  public CompletableFuture<BpfObject> loadEndpoint() {
    return load(ProgramFile.ENDPOINT);
  }

  /**
   * Returns the programs that all endpoints share. They are loaded once, and again by a call after
   * a failure or where the kernel has refused them; {@link #close()} closes them. For the launching
   * thread, then the conductor's.
   */
  public CompletableFuture<BpfObject> endpointPrograms() {
    if (endpointPrograms == null || endpointPrograms.isCompletedExceptionally()) {
      endpointPrograms = loadEndpoint();
    } else if (endpointPrograms.isDone() && ClosedPrograms.isClosed(endpointPrograms.join())) {
      final BpfObject closed = endpointPrograms.join();
      endpointPrograms = loadEndpoint().thenApply(loaded -> better(loaded, closed));
    }
    return endpointPrograms;
  }

  /** Others may still attach the closed programs: they stay open. */
  private BpfObject better(BpfObject loaded, BpfObject closed) {
    if (ClosedPrograms.isClosed(loaded)) {
      loaded.close();
      return closed;
    }
    replaced.add(closed);
    return loaded;
  }

  /** Closes the programs of {@link #endpointPrograms()}; attached ones stay attached. */
  @Override
  public void close() {
    replaced.forEach(BpfObject::close);
    if (endpointPrograms != null) {
      endpointPrograms.thenAccept(BpfObject::close);
    }
  }
}
