package agent.policy;

import agent.conductor.Work.Progress;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A commit of the engine in progress. Its steps are bounded; between them the engine answers, and
 * hears of identities, but takes no other change.
 */
public interface PolicyCommitting {
  /**
   * Carries out one step.
   *
   * @return WAITING until {@link #awaited} has completed
   */
  Progress step();

  /** Returns the write or the resolving that the next step waits for; null for none. */
  CompletableFuture<Void> awaited();

  /**
   * Returns what was committed, after the last step: for each part of the changes, in order, its
   * results and the writes to carry out. A part that cannot be stored changes nothing, and its
   * results say so.
   */
  List<PolicyCommit> commits();

  /** Carries out all steps, and waits between them; returns what was committed. */
  default List<PolicyCommit> complete() {
    Progress progress = step();
    while (progress != Progress.DONE) {
      if (progress == Progress.WAITING) {
        awaited().exceptionally(failure -> null).join();
      }
      progress = step();
    }
    return commits();
  }

  /** Returns a commit that needs no steps. */
  static PolicyCommitting ended(List<PolicyCommit> commits) {
    return new PolicyCommitting() {
      @Override
      public Progress step() {
        return Progress.DONE;
      }

      @Override
      public CompletableFuture<Void> awaited() {
        return null;
      }

      @Override
      public List<PolicyCommit> commits() {
        return commits;
      }
    };
  }
}
