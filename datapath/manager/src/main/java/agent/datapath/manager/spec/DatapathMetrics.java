package agent.datapath.manager.spec;

/** Packets and bytes by direction and drop reason, summed over the CPUs. Thread-safe. */
public interface DatapathMetrics {
  /** Gets the counters that are not zero. */
  @FunctionalInterface
  interface Visitor {
    /**
     * Called once a counter.
     *
     * @param direction number of {@code agent.maps.layout.MetricsDirection}
     * @param reason number of {@code agent.maps.layout.DropReason}; 0 is what was forwarded
     * @param packets since the map was created
     * @param bytes since the map was created
     */
    void onCounter(int direction, int reason, long packets, long bytes);
  }

  /** Reads the kernel's counters now. */
  void forEach(Visitor visitor);

  /** Packets of one direction and reason. */
  long packets(int direction, int reason);
}
