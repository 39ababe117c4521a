package agent.datapath.spec;

/** Packet and byte counters by direction and drop reason, summed over all CPUs. Thread-safe. */
public interface DatapathMetrics {
  /** Receives the counters that are not zero. */
  @FunctionalInterface
  interface Visitor {
    /**
     * Receives one counter.
     *
     * @param direction number of {@code agent.maps.layout.MetricsDirection}
     * @param reason number of {@code agent.maps.layout.DropReason}; 0 for forwarded packets
     * @param packets since the map was created
     * @param bytes since the map was created
     */
    void onCounter(int direction, int reason, long packets, long bytes);
  }

  /** Reads the counters from the kernel and passes them to the visitor. */
  void forEach(Visitor visitor);

  /** Returns the number of packets of one direction and reason. */
  long packets(int direction, int reason);
}
