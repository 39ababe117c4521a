package agent.datapath.manager.prefilter;

import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.spec.DatapathContext;
import agent.datapath.manager.spec.Prefilter;
import agent.datapath.manager.spec.PrefilterList;
import agent.datapath.manager.spec.PrefilterStore;
import agent.datapath.manager.thread.Work;
import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterTable;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The deny list of a node that has a prefilter device. A change is computed on the caller's thread,
 * written to the kernel on the conductor's thread, stored, and then acknowledged. Changes are
 * serialized.
 */
public final class DevicePrefilter implements Prefilter {
  private static final Logger LOGGER = LogManager.getLogger(DevicePrefilter.class);
  private static final String FIELD = "deny";

  private final PrefilterMaps maps;
  private final PrefilterStore store;
  private final boolean enableIpv4;
  private final boolean enableIpv6;
  private final DatapathConductor conductor;
  private final CellPlan plan = new CellPlan();
  private final PrefilterGuard guard;
  private final String unreadable;
  private volatile PrefilterList current;

  private DevicePrefilter(
      DatapathContext context,
      PrefilterMaps maps,
      DatapathConductor conductor,
      KernelFaults faults,
      Repairs repairs,
      PrefilterList current,
      String unreadable) {
    this.maps = maps;
    guard = new PrefilterGuard(maps, plan, faults, repairs);
    this.store = context.prefilterStore();
    this.enableIpv4 = context.enableIpv4();
    this.enableIpv6 = context.enableIpv6();
    this.conductor = conductor;
    this.current = current;
    this.unreadable = unreadable;
  }

  /**
   * Writes the stored list to the maps, whatever they hold. Where it cannot be read, what the maps
   * hold stays in force and no change is accepted. Called by the launching thread before the
   * conductor runs.
   *
   * @throws OperationException where the list cannot be written
   */
  public static DevicePrefilter restore(
      DatapathContext context,
      PrefilterMaps maps,
      DatapathConductor conductor,
      KernelFaults faults,
      Repairs repairs) {
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
        new DevicePrefilter(context, maps, conductor, faults, repairs, stored, unreadable);
    prefilter.plan.rebuild(stored.deny());
    final PrefilterUpdate update =
        new PrefilterUpdate(maps, List.of(PrefilterTable.values()), prefilter.plan);
    Work.Progress progress = Work.Progress.WORKED;
    while (progress != Work.Progress.DONE) {
      progress = update.step();
    }
    prefilter.guard.resume();
    return prefilter;
  }

  /** Returns the comparison of the maps with the list in force. */
  public Check guard() {
    return guard;
  }

  @Override
  public PrefilterList get() {
    return current;
  }

  @Override
  public synchronized PrefilterList add(OptionalLong revision, List<Prefix> prefixes) {
    check(revision);
    prefixes.forEach(this::checkFamily);
    final List<Prefix> deny = current.deny();
    final List<Prefix> inserts = PrefixLists.difference(PrefixLists.sorted(prefixes), deny);
    final List<Prefix> next = PrefixLists.union(deny, inserts);
    checkCapacity(next);
    return change(next, inserts);
  }

  @Override
  public synchronized PrefilterList remove(OptionalLong revision, List<Prefix> prefixes) {
    check(revision);
    final List<Prefix> deny = current.deny();
    final List<Prefix> deletes = PrefixLists.intersection(PrefixLists.sorted(prefixes), deny);
    final List<Prefix> next = PrefixLists.difference(deny, deletes);
    return change(next, deletes);
  }

  /** Changes the list; the changed prefixes, inserted or deleted, are sorted. */
  private PrefilterList change(List<Prefix> deny, List<Prefix> changed) {
    final PrefilterList before = current;
    if (changed.isEmpty()) {
      return before;
    }
    final PrefilterList after = new PrefilterList(before.revision() + 1, deny);
    enforce(after, changed);
    try {
      store.store(after);
    } catch (OperationException failure) {
      undo(before, changed, failure);
      throw failure;
    }
    current = after;
    return after;
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
    await(conductor.run(guard::suspend)); // from now on this thread may change the plan
    try {
      plan.rebuild(list.deny());
      final PrefilterUpdate update = new PrefilterUpdate(maps, tables(changed), plan);
      conductor.begin(update);
      await(update.done());
    } catch (RuntimeException failure) {
      resumeWith(current.deny());
      throw failure;
    }
    await(conductor.run(guard::resume));
  }

  /** Returns the tables that a change concerns; IPv4 prefixes come first. */
  private static List<PrefilterTable> tables(List<Prefix> changed) {
    final List<PrefilterTable> tables = new ArrayList<>();
    if (!changed.isEmpty()) {
      tables.add(PrefilterTable.LIST);
      if (changed.getFirst().isIpv4()) {
        tables.add(PrefilterTable.IPV4);
      }
      if (changed.getLast().isIpv6()) {
        tables.add(PrefilterTable.IPV6);
      }
    }
    return tables;
  }

  private static void await(CompletableFuture<Void> step) {
    try {
      step.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
    }
  }

  /** Compares the maps with a list again after a change of it failed and was undone. */
  private void resumeWith(List<Prefix> deny) {
    plan.rebuild(deny);
    conductor.run(guard::resume);
  }

  private void check(OptionalLong revision) {
    if (unreadable != null) {
      throw new OperationException(unreadable);
    }
    if (revision.isPresent() && revision.getAsLong() != current.revision()) {
      throw Refusal.stale(
          "revision", revision.getAsLong() + " is not the current one, " + current.revision());
    }
  }

  private void checkFamily(Prefix prefix) {
    if (prefix.isIpv4() ? !enableIpv4 : !enableIpv6) {
      throw Refusal.invalid(FIELD, "'" + prefix + "' is of an address family that is off");
    }
  }

  private void checkCapacity(List<Prefix> deny) {
    int ipv4 = 0;
    for (final Prefix prefix : deny) {
      ipv4 += prefix.isIpv4() ? 1 : 0;
    }
    final int most = Math.max(ipv4, deny.size() - ipv4);
    if (most > PrefilterGeometry.MAX_PREFIXES) {
      throw Refusal.exhausted(
          FIELD,
          most + " prefixes of one family, at most " + PrefilterGeometry.MAX_PREFIXES + " fit");
    }
  }
}
