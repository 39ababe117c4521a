package agent.datapath.manager.conductor;

import agent.datapath.manager.load.Shards;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.layout.GenerationLayout;
import agent.types.Prefix;
import java.util.List;

/**
 * Raises the generations that invalidate verdicts; no other class does. A verdict in a conntrack
 * entry is valid while the generations of both sides equal those in the entry.
 */
public final class VerdictGenerations implements AutoCloseable {
  private final GenerationArray generations;
  private final int size;

  /** Maps the open map {@code generations} into memory. */
  public VerdictGenerations(BpfMap map) {
    generations = new GenerationArray(map);
    size = map.maxEntries();
  }

  /** Invalidates all verdicts with this endpoint as a side. */
  void raise(int endpointId) {
    generations.bump(endpointId);
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
      generations.bump(GenerationLayout.OUTSIDE + (first ^ i));
    }
  }

  /** Invalidates all verdicts. */
  void raiseAll() {
    for (int id = 0; id < size; id++) {
      generations.bump(id);
    }
  }

  /**
   * Invalidates all verdicts of an endpoint whose id or address another workload may get, and
   * changes the owner part of the generation, so that its conntrack entries are not renewed.
   */
  void disown(int endpointId) {
    generations.disown(endpointId);
  }

  @Override
  public void close() {
    generations.close();
  }
}
