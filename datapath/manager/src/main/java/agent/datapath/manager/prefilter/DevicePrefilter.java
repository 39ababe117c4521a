package agent.datapath.manager.prefilter;

import agent.conductor.Work;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.PrefilterStore;
import agent.maps.layout.PrefilterLayout;
import agent.maps.layout.PrefilterTable;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The deny list of a node that has a prefilter device. A change is computed on a caller's thread,
 * written to the kernel on the conductor's thread, stored, and then acknowledged. Changes that wait
 * are computed in their order, and enforced and stored together.
 */
public final class DevicePrefilter implements Prefilter {
  private static final Logger LOGGER = LogManager.getLogger(DevicePrefilter.class);
  private static final String FIELD = "deny";
  private static final int MOST_TOGETHER = 256;
  private static final int MOST_PREFIXES_TOGETHER = 1 << 21;

  private final PrefilterMaps maps;
  private final PrefilterStore store;
  private final boolean enableIpv4;
  private final boolean enableIpv6;
  private final DatapathConductor conductor;
  private final String unreadable;
  private final int maxPrefixes;
  private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean isCommitting = new AtomicBoolean();
  private volatile PrefilterList current;

  /**
   * What the kernel enforces: another list than {@link #current} where a change cannot be undone.
   */
  private List<Prefix> enforced;

  private DevicePrefilter(
      DatapathContext context,
      PrefilterMaps maps,
      DatapathConductor conductor,
      PrefilterList current,
      String unreadable) {
    this.maps = maps;
    this.store = context.prefilterStore();
    this.enableIpv4 = context.enableIpv4();
    this.enableIpv6 = context.enableIpv6();
    this.conductor = conductor;
    this.current = current;
    enforced = current.deny();
    this.unreadable = unreadable;
    this.maxPrefixes = context.maxPrefixes();
  }

  /**
   * Writes the stored list to the maps, whatever they hold. Where it cannot be read, what the maps
   * hold stays in force and no change is accepted. Called by the launching thread before the
   * conductor runs.
   *
   * @throws OperationException where the list cannot be written
   */
  public static DevicePrefilter restore(
      DatapathContext context, PrefilterMaps maps, DatapathConductor conductor) {
    PrefilterList loaded;
    String unreadable = null;
    try {
      loaded = context.prefilterStore().load().orElse(PrefilterList.EMPTY);
    } catch (UnreadableStateException e) {
      LOGGER.error("{}", e.getMessage());
      unreadable = e.getMessage();
      loaded = new PrefilterList(0, maps.read());
    }
    final PrefilterList stored =
        new PrefilterList(loaded.revision(), PrefixLists.sorted(loaded.deny()));
    final DevicePrefilter prefilter =
        new DevicePrefilter(context, maps, conductor, stored, unreadable);
    maps.plan().rebuild(stored.deny());
    final PrefilterUpdate update = new PrefilterUpdate(maps, List.of(PrefilterTable.values()));
    Work.Progress progress = Work.Progress.WORKED;
    while (progress != Work.Progress.DONE) {
      progress = update.step();
    }
    maps.resume();
    return prefilter;
  }

  @Override
  public PrefilterList get() {
    return current;
  }

  @Override
  public PrefilterList add(OptionalLong revision, List<Prefix> prefixes) {
    return change(
        before -> {
          check(revision, before);
          prefixes.forEach(this::checkFamily);
          final List<Prefix> inserts =
              PrefixLists.difference(PrefixLists.sorted(prefixes), before.deny());
          final List<Prefix> next = PrefixLists.union(before.deny(), inserts);
          checkCapacity(next, inserts.size());
          return new Step(next, inserts);
        });
  }

  @Override
  public PrefilterList remove(OptionalLong revision, List<Prefix> prefixes) {
    return change(
        before -> {
          check(revision, before);
          final List<Prefix> deletes =
              PrefixLists.intersection(PrefixLists.sorted(prefixes), before.deny());
          return new Step(PrefixLists.difference(before.deny(), deletes), deletes);
        });
  }

  /**
   * What one change leads to.
   *
   * @param deny the list after it
   * @param changed what was inserted or deleted, sorted
   */
  private record Step(List<Prefix> deny, List<Prefix> changed) {}

  /**
   * A change that waits.
   *
   * @param step what it makes of a list
   * @param result completed when it is enforced and stored, or refused
   */
  private record Waiting(
      Function<PrefilterList, Step> step, CompletableFuture<PrefilterList> result) {}

  /** Makes a change together with those that wait, one group after another. */
  private PrefilterList change(Function<PrefilterList, Step> step) {
    final Waiting own = new Waiting(step, new CompletableFuture<>());
    waiting.add(own);
    if (isCommitting.compareAndSet(false, true)) {
      Thread.ofVirtual().name("prefilter").start(this::commitWaiting);
    }
    return await(own.result());
  }

  private void commitWaiting() {
    do {
      for (List<Waiting> group = nextGroup(); !group.isEmpty(); group = nextGroup()) {
        try {
          commit(group);
        } catch (Throwable failure) {
          group.forEach(one -> one.result().completeExceptionally(failure));
          isCommitting.set(false);
          throw failure;
        }
      }
      isCommitting.set(false);
    } while (!waiting.isEmpty() && isCommitting.compareAndSet(false, true));
  }

  /** Each result is a list of its own, so that few changes of a long list go together. */
  private List<Waiting> nextGroup() {
    final int most = Math.max(1, MOST_PREFIXES_TOGETHER / (current.deny().size() + 1));
    final List<Waiting> group = new ArrayList<>();
    Waiting next = waiting.poll();
    while (next != null) {
      group.add(next);
      next = group.size() < Math.min(most, MOST_TOGETHER) ? waiting.poll() : null;
    }
    return group;
  }

  /** Commits changes in their order. A refused one changes nothing and does not refuse others. */
  private void commit(List<Waiting> group) {
    final PrefilterList before = current;
    final List<Prefix> changed = new ArrayList<>();
    final List<PrefilterList> results = new ArrayList<>();
    PrefilterList after = before;
    for (final Waiting one : group) {
      try {
        final Step step = one.step().apply(after);
        if (!step.changed().isEmpty()) {
          after = new PrefilterList(after.revision() + 1, step.deny());
          changed.add(step.changed().getFirst());
          changed.add(step.changed().getLast());
        }
        results.add(after);
      } catch (RuntimeException refusal) {
        one.result().completeExceptionally(refusal);
        results.add(null);
      }
    }
    try {
      if (after != before) {
        enforceAndStore(before, after, changed);
      }
    } catch (RuntimeException failure) {
      failAlone(group, failure);
      return;
    }
    for (int i = 0; i < group.size(); i++) {
      group.get(i).result().complete(results.get(i)); // without effect where it was refused
    }
  }

  /** A failure of one change alone is its own; that of several is found by trying each alone. */
  private void failAlone(List<Waiting> group, RuntimeException failure) {
    for (final Waiting one : group) {
      if (group.size() == 1) {
        one.result().completeExceptionally(failure);
      } else if (!one.result().isDone()) {
        commit(List.of(one));
      }
    }
  }

  /**
   * Enforces a list and stores it.
   *
   * @param changed prefixes of each address family that differs
   */
  private void enforceAndStore(PrefilterList before, PrefilterList after, List<Prefix> changed) {
    enforce(after, changed);
    try {
      store.store(after);
    } catch (OperationException failure) {
      undo(before, changed, failure);
      throw failure;
    }
    current = after;
  }

  private void undo(PrefilterList before, List<Prefix> changed, OperationException failure) {
    try {
      enforce(before, changed);
    } catch (RuntimeException undoFailure) {
      throw new OperationException(
          failure.getMessage()
              + "; until the next start the kernel enforces the refused list: "
              + undoFailure.getMessage(),
          failure);
    }
  }

  private void enforce(PrefilterList list, List<Prefix> changed) {
    await(conductor.run(maps::suspend)); // from now on this thread may change the plan
    try {
      maps.plan().rebuild(list.deny());
      final PrefilterUpdate update = new PrefilterUpdate(maps, tables(changed));
      conductor.begin(update);
      await(update.done());
    } catch (RuntimeException failure) {
      maps.plan().rebuild(enforced);
      conductor.run(maps::resume);
      throw failure;
    }
    enforced = list.deny();
    await(conductor.run(maps::resume));
  }

  /** Returns the tables that a change of the current list concerns. */
  private List<PrefilterTable> tables(List<Prefix> changed) {
    if (enforced != current.deny()) {
      return List.of(PrefilterTable.values());
    }
    final List<PrefilterTable> tables = new ArrayList<>();
    tables.add(PrefilterTable.LIST);
    if (changed.stream().anyMatch(Prefix::isIpv4)) {
      tables.add(PrefilterTable.IPV4);
    }
    if (changed.stream().anyMatch(Prefix::isIpv6)) {
      tables.add(PrefilterTable.IPV6);
    }
    return tables;
  }

  private static <T> T await(CompletableFuture<T> step) {
    try {
      return step.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
    }
  }

  private void check(OptionalLong revision, PrefilterList before) {
    if (unreadable != null) {
      throw new OperationException(unreadable);
    }
    if (revision.isPresent() && revision.getAsLong() != before.revision()) {
      throw Refusal.stale(
          "revision",
          revision.getAsLong() + " is outdated, the current revision is " + before.revision());
    }
  }

  private void checkFamily(Prefix prefix) {
    if (prefix.isIpv4() ? !enableIpv4 : !enableIpv6) {
      throw Refusal.invalid(FIELD, "'" + prefix + "' is of a disabled address family");
    }
  }

  private void checkCapacity(List<Prefix> deny, int inserted) {
    if (inserted > 0 && deny.size() > maxPrefixes) {
      throw Refusal.overLimit(
          FIELD,
          "the list would have %d prefixes, the limit is %d (--max-prefixes)"
              .formatted(deny.size(), maxPrefixes));
    }
    int ipv4 = 0;
    for (final Prefix prefix : deny) {
      ipv4 += prefix.isIpv4() ? 1 : 0;
    }
    final int most = Math.max(ipv4, deny.size() - ipv4);
    if (most > PrefilterLayout.MAX_PREFIXES) {
      throw Refusal.exhausted(
          FIELD, most + " prefixes of one family, the limit is " + PrefilterLayout.MAX_PREFIXES);
    }
  }
}
