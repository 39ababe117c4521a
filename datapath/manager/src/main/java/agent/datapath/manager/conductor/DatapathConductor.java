package agent.datapath.manager.conductor;

import agent.conductor.ConductorAgent;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.reconcile.TableChanges;
import agent.reconcile.Waiter;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
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
  private final RefusedEntries refused;
  private final IntSupplier reconcile;
  private final NanoClock clock;
  private final List<Reconciler> reconcilers = new ArrayList<>();
  private final Reconciler reconciler;
  private final Reconciler policyReconciler;
  private final ImmediateChanges immediateChanges;

  /** Changes of the ipcache that a full queue of commands did not take: the next ones follow. */
  private final Queue<TableChanges> unsent = new ConcurrentLinkedQueue<>();

  /** The number of those that are not realized yet. */
  private int sentLate;

  /**
   * Creates the conductor without starting its thread.
   *
   * @param refused gets what its reconcilers' maps refuse
   * @param reconcile compares a bounded part of the kernel; returns the number of steps
   */
  public DatapathConductor(NanoClock clock, RefusedEntries refused, IntSupplier reconcile) {
    super("dp-conductor", clock);
    this.refused = refused;
    this.reconcile = reconcile;
    this.clock = clock;
    reconciler = newReconciler();
    policyReconciler = newReconciler();
    immediateChanges = new ImmediateChanges(newReconciler());
  }

  /**
   * Returns a further reconciler, which this agent's thread steps in turn with the others: its
   * changes do not wait for theirs. Before the thread is started.
   */
  public Reconciler newReconciler() {
    final Reconciler added = new Reconciler(clock, refused);
    reconcilers.add(added);
    beginHere(added);
    return added;
  }

  /** Ends the next park after so long at the latest, or when an entry is to be retried. */
  public void parkAtMost(long nanoseconds) {
    long pauseNs = nanoseconds;
    for (int i = 0; i < reconcilers.size(); i++) {
      pauseNs = Math.min(pauseNs, reconcilers.get(i).pauseNs());
    }
    idleStrategy().parkAtMost(pauseNs);
  }

  /** Returns the reconciler of the ipcache. */
  public Reconciler reconciler() {
    return reconciler;
  }

  /** Returns the reconciler of the policy maps. */
  Reconciler policyReconciler() {
    return policyReconciler;
  }

  /** Returns the changes of the maps of few entries, which have a reconciler for themselves. */
  public ImmediateChanges immediateChanges() {
    return immediateChanges;
  }

  /**
   * Submits changes of the ipcache: they follow the changes of policy maps that were submitted
   * before, which may be for the identities of new prefixes. No change of a policy map waits for
   * the ipcache. For any thread.
   *
   * @return completes when they are in force; fails also where the queue of commands is full, in
   *     which case they are realized before the next ones
   */
  CompletableFuture<Void> changeAddresses(TableChanges changes) {
    final CompletableFuture<Void> written = new CompletableFuture<>();
    run(() -> submitAddresses(changes, written))
        .whenComplete(
            (submitted, refusal) -> {
              if (refusal != null) {
                unsent.add(changes);
                written.completeExceptionally(refusal);
              }
            });
    return written;
  }

  private void submitAddresses(TableChanges changes, CompletableFuture<Void> written) {
    TableChanges before = unsent.poll();
    while (before != null) {
      sentLate++;
      submitBehindPolicies(before, failure -> sentLate--); // it was answered
      before = unsent.poll();
    }
    submitBehindPolicies(changes, failure -> answer(written, null, failure));
  }

  /**
   * Returns whether the ipcache maps are known to hold what is desired, and nothing else: no
   * address has an identity that was taken from it. For this agent's thread.
   */
  boolean areAddressesInForce() {
    return unsent.isEmpty() && sentLate == 0 && reconciler.isInForce();
  }

  private void submitBehindPolicies(TableChanges changes, Waiter waiter) {
    if (policyReconciler.isIdle()) {
      reconciler.submit(changes, waiter);
    } else {
      policyReconciler.submit(
          (batch, limit) -> false, failure -> reconciler.submit(changes, waiter));
    }
  }

  /**
   * Submits changes of desired entries; for any thread.
   *
   * @param submission executed on this agent's thread; returns what completes there when the
   *     changes are in force
   * @return completed as that, and exceptionally with the translated exception
   */
  public <T> CompletableFuture<T> change(Callable<CompletableFuture<T>> submission) {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    submit(submission)
        .whenComplete(
            (submitted, refusal) -> {
              if (refusal != null) {
                answer.completeExceptionally(refusal);
              } else {
                submitted.whenComplete((result, failure) -> answer(answer, result, failure));
              }
            });
    return answer;
  }

  private <T> void answer(CompletableFuture<T> answer, T result, Throwable failure) {
    if (failure == null) {
      answer.complete(result);
    } else {
      answer.completeExceptionally(
          translate(failure instanceof CompletionException ? failure.getCause() : failure));
    }
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
