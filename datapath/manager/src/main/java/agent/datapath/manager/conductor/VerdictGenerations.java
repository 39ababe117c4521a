package agent.datapath.manager.conductor;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.GenerationArray;

/**
 * Raises the generations that invalidate verdicts; no other class does. A verdict in a conntrack
 * entry is valid while the generations of both sides equal those in the entry.
 */
public final class VerdictGenerations implements AutoCloseable {
  /** Index of the generation of all addresses that do not belong to an endpoint of this node. */
  private static final int OUTSIDE = 0;

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

  /** Invalidates all verdicts with a side that is not an endpoint of this node. */
  void raiseOutside() {
    generations.bump(OUTSIDE);
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
