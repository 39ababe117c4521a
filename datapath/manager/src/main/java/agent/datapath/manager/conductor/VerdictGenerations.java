package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.load.Shards;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.PagedLongs;
import agent.maps.layout.GenerationLayout;
import agent.types.Prefix;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Raises the generations that invalidate verdicts; no other class does. A verdict in a conntrack
 * entry is valid while the generations of both sides equal those in the entry.
 *
 * <p>Compares the generations with those that it wrote: a former value makes verdicts valid again
 * that were given before a change of policy. A generation that another tool has written is raised
 * beyond it, so that neither the verdicts of before nor those of meanwhile are valid.
 */
public final class VerdictGenerations implements Check, IpcacheMaps.Verdicts {
  private static final Logger LOGGER = LogManager.getLogger(VerdictGenerations.class);
  private static final String SUBJECT = "map generations";
  private static final int GENERATIONS_PER_STEP = 16_384;

  private final GenerationArray generations;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final PagedLongs written;
  private int next;
  private int repaired;
  private int first;
  private boolean isFaulty;

  /** Maps the open map {@code generations} into memory, whose values are right at this time. */
  public VerdictGenerations(BpfMap map, KernelFaults faults, Repairs repairs) {
    generations = new GenerationArray(map);
    this.faults = faults;
    this.repairs = repairs;
    written = new PagedLongs(map.maxEntries());
    for (int index = 0; index < written.length(); index++) {
      written.set(index, generations.get(index));
    }
  }

  @Override
  public void raise(int endpointId) {
    bump(endpointId);
  }

  private void bump(int index) {
    if (!repair(index)) {
      written.set(index, generations.bump(index));
    }
  }

  /** Raises a generation that another tool has written; returns whether it has. */
  private boolean repair(int index) {
    final long found = generations.get(index);
    if (found == written.get(index)) {
      return false;
    }
    if (!GenerationArray.isRaised(found, written.get(index))) {
      generations.put(index, written.get(index));
    }
    written.set(index, generations.bump(index));
    if (repaired == 0) {
      first = index;
    }
    repaired++;
    return true;
  }

  /**
   * Invalidates all verdicts with a side that has an address of one of the prefixes and is not an
   * endpoint of this node: those of the shards under them. A prefix that leaves 16 bits or more
   * open is above all shards.
   */
  void raiseOutside(List<Prefix> prefixes) {
    long shards = 0;
    for (final Prefix prefix : prefixes) {
      shards += Shards.under(prefix);
    }
    if (shards >= Shards.COUNT) {
      raiseShards(0, Shards.COUNT);
      return;
    }
    for (final Prefix prefix : prefixes) {
      raiseShards(Shards.of(prefix.address()), Shards.under(prefix));
    }
  }

  private void raiseShards(int first, int count) {
    for (int i = 0; i < count; i++) {
      raiseShard(first ^ i);
    }
  }

  @Override
  public void raiseShard(int shard) {
    bump(GenerationLayout.OUTSIDE + shard);
  }

  @Override
  public void raiseAll() {
    for (int index = 0; index < written.length(); index++) {
      bump(index);
    }
  }

  /**
   * Invalidates all verdicts of an endpoint whose id or address another workload may get, and
   * changes the owner part of the generation, so that its conntrack entries are not renewed.
   */
  void disown(int endpointId) {
    repair(endpointId);
    written.set(endpointId, generations.disown(endpointId));
  }

  @Override
  public Progress step(long nowNs) {
    final int end = Math.min(written.length(), next + GENERATIONS_PER_STEP);
    for (; next < end; next++) {
      repair(next);
    }
    if (next < written.length()) {
      return Progress.COMPARED;
    }
    next = 0;
    report();
    return Progress.DONE;
  }

  private void report() {
    if (repaired > 0) {
      final String found =
          "%d generations with a wrong value; first: %s".formatted(repaired, name(first));
      isFaulty = true;
      repairs.count(Kind.MAP_ENTRY, repaired);
      faults.degraded(0, null, SUBJECT, found);
      LOGGER.warn("{}: {}; all flows are judged again", SUBJECT, found);
      repaired = 0;
    } else if (isFaulty) {
      isFaulty = false;
      faults.clear(SUBJECT);
    }
  }

  private static String name(int index) {
    return index < GenerationLayout.OUTSIDE
        ? "endpoint " + index
        : "shard " + (index - GenerationLayout.OUTSIDE);
  }

  @Override
  public void close() {
    generations.close();
  }

  @Override
  public String toString() {
    return "generations";
  }
}
