package agent.domain.node;

import agent.datapath.programs.attach.Pins;
import agent.state.AgentState;
import agent.types.AlreadyInUseException;
import agent.types.OperationException;
import java.nio.file.Path;

/** A node that one agent has for itself: its state directory, BPF root and network namespace. */
public final class LockedNode implements AutoCloseable {
  private final AgentState state;
  private final NodeLocks locks;

  private LockedNode(AgentState state, NodeLocks locks) {
    this.state = state;
    this.locks = locks;
  }

  /**
   * Acquires the locks in the calling thread's network namespace, of the state directory first
   * where it has one, and opens the state. Where there is no state, maps of a previous run prove
   * that there was one. Changes nothing else on the node.
   *
   * @param stateDirectory {@code --state-dir}
   * @param bpfRoot {@code --bpf-root}
   * @throws AlreadyInUseException where another agent has one of them
   * @throws agent.types.Refusal INVALID where others own the state directory or may write to it
   * @throws OperationException where a folder cannot be created
   */
  public static LockedNode acquire(Path stateDirectory, Path bpfRoot) throws InterruptedException {
    if (AgentState.hasLock(stateDirectory) || !Pins.hasMaps(bpfRoot)) {
      return stateFirst(stateDirectory, bpfRoot);
    }
    final NodeLocks locks = NodeLocks.take(bpfRoot); // the pins are not those of an agent that runs
    try {
      return new LockedNode(AgentState.open(stateDirectory, true), locks);
    } catch (RuntimeException e) {
      locks.close();
      throw e;
    }
  }

  private static LockedNode stateFirst(Path stateDirectory, Path bpfRoot)
      throws InterruptedException {
    final AgentState state = AgentState.open(stateDirectory);
    try {
      return new LockedNode(state, NodeLocks.take(bpfRoot));
    } catch (RuntimeException | InterruptedException e) {
      state.close();
      throw e;
    }
  }

  /** Returns what the previous run stored. */
  public AgentState state() {
    return state;
  }

  /** Releases the locks; that of the state directory last, which another agent takes first. */
  @Override
  public void close() {
    locks.close();
    state.close();
  }
}
