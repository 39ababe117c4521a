package agent.datapath.manager.conductor;

import agent.conductor.ConductorAgent;
import agent.reconcile.Reconciler;
import java.util.function.IntSupplier;
import org.agrona.concurrent.NanoClock;

/**
 * The agent {@code dp-conductor}. It writes all kernel maps and owns all links and attached
 * programs. Its thread waits only for RCU grace periods, at most one per step: in a step that
 * creates or removes a tcx link ({@code tcx_entry_sync}) or sets a slot of {@code policies} ({@code
 * maybe_wait_bpf_programs}), also between the two rounds of a policy change, and for the kernel's
 * lock of the network configuration, which queries of tc hooks take. The verifier and the compiler
 * run on {@code dp-loader}.
 */
public final class DatapathConductor extends ConductorAgent {
  private final IntSupplier reconcile;
  private final Reconciler reconciler;

  /**
   * Creates the conductor without starting its thread.
   *
   * @param reconcile retries a bounded number of failed map writes and returns their number
   */
  public DatapathConductor(NanoClock clock, IntSupplier reconcile) {
    super("dp-conductor", clock);
    this.reconcile = reconcile;
    reconciler = new Reconciler(clock);
    beginHere(reconciler);
  }

  /** Ends the next park after so long at the latest, or when an entry is to be retried. */
  public void parkAtMost(long nanoseconds) {
    idleStrategy().parkAtMost(Math.min(nanoseconds, reconciler.pauseNs()));
  }

  /** Returns the reconciler, which this agent's thread steps. */
  public Reconciler reconciler() {
    return reconciler;
  }

  @Override
  protected RuntimeException translate(Throwable failure) {
    return DatapathFailures.refusal(failure);
  }

  @Override
  protected int background() {
    return reconcile.getAsInt();
  }
}
