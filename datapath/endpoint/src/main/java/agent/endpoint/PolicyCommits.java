package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.build.PolicyRealization;
import agent.policy.PolicyChange;
import agent.policy.PolicyCommit;
import agent.policy.PolicyCommitting;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.repository.CommittedRules;
import agent.policy.repository.PolicySnapshot;
import agent.types.OperationException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Commits changes of the rules in groups: what arrives while a group is stored and enforced makes
 * the next one, which is resolved once and synced to the disk once. A change is answered when its
 * group is stored and enforced. A group that the kernel refuses is taken back, and its changes are
 * tried one by one. Runs on the conductor's thread.
 *
 * <p>Any thread adds a change. While a commit is in progress, its end finds what was added: the
 * conductor is not woken for each change of a group.
 */
final class PolicyCommits {
  private static final Logger LOGGER = LogManager.getLogger(PolicyCommits.class);
  private static final int MOST_TOGETHER = 256;

  /**
   * The time for which a group waits where the one before had many changes: so long its clients
   * take to ask for the next ones. Otherwise the first of them would be committed alone.
   */
  private static final long GATHERING_MS = 1;

  /** Clients of so many changes ask for the next ones while one is committed. */
  private static final int FEW = 4;

  private final ConductorAgent conductor;
  private final PolicyEngine engine;
  private final PolicyRealization realization;
  private final HeldEndpoints held;
  private final Consumer<Supplier<CommittedRules>> observer;
  private final Queue<Waiting> added = new ConcurrentLinkedQueue<>();
  private final Deque<Waiting> waiting = new ArrayDeque<>();

  /** Read after a change was added, and set to false before what was added is taken. */
  private volatile boolean isCommitting;

  /** A change that is not answered yet; one that is alone shares its group with no other. */
  private record Waiting(
      PolicyChange change, CompletableFuture<PolicySnapshot> answer, boolean isAlone) {}

  /**
   * Creates the commits of an engine.
   *
   * @param observer hears of each commit that changed the rules, when it is in force and before its
   *     changes are answered
   */
  PolicyCommits(
      ConductorAgent conductor,
      PolicyEngine engine,
      PolicyRealization realization,
      HeldEndpoints held,
      Consumer<Supplier<CommittedRules>> observer) {
    this.observer = observer;
    this.conductor = conductor;
    this.engine = engine;
    this.realization = realization;
    this.held = held;
  }

  /**
   * Adds a change; for any thread.
   *
   * @return completes when it is stored and enforced, exceptionally where it is refused
   */
  CompletableFuture<PolicySnapshot> add(PolicyChange change) {
    final Waiting one = new Waiting(change, new CompletableFuture<>(), false);
    added.add(one);
    if (!isCommitting) {
      conductor
          .run(this::commitNext)
          .exceptionally(
              refusal -> {
                if (added.remove(one)) {
                  one.answer().completeExceptionally(refusal);
                }
                return null;
              });
    }
    return one.answer();
  }

  private void takeAdded() {
    Waiting one = added.poll();
    while (one != null) {
      waiting.add(one);
      one = added.poll();
    }
  }

  private void commitNext() {
    if (isCommitting || waiting.isEmpty() && added.isEmpty()) {
      return;
    }
    isCommitting = true;
    final List<Waiting> group = new ArrayList<>();
    final AtomicBoolean isHeld = new AtomicBoolean();
    realization
        .commit(
            () -> {
              group.addAll(nextGroup());
              isHeld.set(engine.isHeld());
              return engine.begin(group.stream().map(Waiting::change).toList());
            })
        .whenComplete(
            (commits, failure) -> {
              if (failure == null) {
                realize(group, commits, isHeld.get());
              } else {
                group.forEach(one -> one.answer().completeExceptionally(failure));
                conductor.run(() -> end(1));
              }
            });
  }

  private void realize(List<Waiting> group, List<PolicyCommit> commits, boolean isHeld) {
    CompletableFuture<Void> realized = CompletableFuture.completedFuture(null);
    int first = 0;
    for (final PolicyCommit commit : commits) {
      final List<Waiting> part = group.subList(first, first + commit.results().size());
      first += part.size();
      final PolicyUpdate update = commit.update();
      final CompletableFuture<Void> written =
          realization.realize(update).thenRun(() -> realization.requireServed(update));
      realized = realized.thenCompose(done -> answered(part, commit, written, isHeld));
    }
    realized.whenCompleteAsync(
        (done, failure) -> {
          engine.confirm();
          end(group.size());
        },
        conductor::run);
  }

  /** While the rules are held, only what deletes or replaces all may pass, so each goes alone. */
  private List<Waiting> nextGroup() {
    takeAdded();
    final List<Waiting> group = new ArrayList<>();
    do {
      group.add(waiting.poll());
    } while (!group.getLast().isAlone()
        && !engine.isHeld()
        && group.size() < MOST_TOGETHER
        && !waiting.isEmpty()
        && !waiting.peek().isAlone());
    return group;
  }

  private void end(int together) {
    if (together > FEW) {
      CompletableFuture.delayedExecutor(GATHERING_MS, TimeUnit.MILLISECONDS, conductor::run)
          .execute(() -> end(1));
    } else {
      isCommitting = false;
      commitNext();
    }
  }

  private CompletableFuture<Void> answered(
      List<Waiting> part, PolicyCommit commit, CompletableFuture<Void> written, boolean isHeld) {
    LOGGER.info(
        "policy: revision {} after {} changes {} endpoints: {}",
        commit.update().revision(),
        part.size(),
        commit.update().endpoints().size(),
        part.getFirst().change());
    return (isHeld ? written.thenComposeAsync(done -> held.buildAll(), conductor::run) : written)
        .thenAccept(
            done -> {
              tell(commit);
              answer(part, commit);
            })
        .exceptionallyComposeAsync(
            failure -> undo(part, commit, Answers.unwrapped(failure)), conductor::run);
  }

  private void tell(PolicyCommit commit) {
    try {
      if (commit.isChanged()) {
        observer.accept(commit.rules());
      }
    } catch (RuntimeException failure) {
      LOGGER.warn("policy: reporting revision {} failed", commit.update().revision(), failure);
    }
  }

  private static void answer(List<Waiting> part, PolicyCommit commit) {
    for (int i = 0; i < part.size(); i++) {
      final PolicyCommit.Result result = commit.results().get(i);
      if (result.refusal() == null) {
        part.get(i).answer().complete(result.rules());
      } else {
        part.get(i).answer().completeExceptionally(result.refusal());
      }
    }
  }

  /** Undoes a commit that the kernel refused, so that nothing of it is there after a restart. */
  private CompletableFuture<Void> undo(
      List<Waiting> part, PolicyCommit commit, RuntimeException failure) {
    final long revision = commit.update().revision();
    LOGGER.warn("policy: revision {} rolled back: {}", revision, failure.getMessage());
    return realization
        .commit(() -> engine.beginUndo(revision).orElse(PolicyCommitting.ended(List.of())))
        .thenCompose(back -> undone(part, commit, failure, back));
  }

  private CompletableFuture<Void> undone(
      List<Waiting> part, PolicyCommit commit, RuntimeException failure, List<PolicyCommit> back) {
    final String stays = "revision " + commit.update().revision() + " stays: ";
    if (back.isEmpty()) {
      return refuse(
          part,
          failed(
              failure,
              commit.isChanged()
                  ? stays + "newer revisions depend on it"
                  : "the rules are as before"));
    }
    final PolicyCommit undo = back.getFirst();
    final CompletableFuture<Void> realized = realization.realize(undo.update());
    final RuntimeException refusal = undo.results().getFirst().refusal();
    if (refusal != null) {
      return refuse(part, failed(failure, stays + refusal.getMessage()));
    }
    return realized.handleAsync(
        (done, again) -> {
          if (part.size() == 1) {
            refuse(part, failed(failure, "the rules are as before"));
          } else {
            part.reversed().forEach(this::tryAlone);
          }
          return null;
        },
        conductor::run);
  }

  private void tryAlone(Waiting one) {
    waiting.addFirst(new Waiting(one.change(), one.answer(), true));
  }

  private static CompletableFuture<Void> refuse(List<Waiting> part, RuntimeException failure) {
    part.forEach(one -> one.answer().completeExceptionally(failure));
    return CompletableFuture.completedFuture(null);
  }

  private static OperationException failed(RuntimeException failure, String outcome) {
    return new OperationException(failure.getMessage() + "; " + outcome, failure);
  }
}
