package agent.datapath.manager;

/** The datapath of this node, launched. */
public final class DatapathManager implements AutoCloseable {
  private DatapathManager() {}

  /**
   * Checks what the kernel offers, takes over or creates maps and links, and starts the agents. It
   * returns when the datapath is ready.
   *
   * @throws agent.terms.Refusal UNAVAILABLE with one clear line where the kernel, libbpf or a
   *     capability is missing, FAILED where a map, program or link cannot be made
   */
  public static DatapathManager launch(final Context context) {
    context.conclude();
    throw new UnsupportedOperationException("not yet");
  }

  /** Where commands go in. */
  public DatapathProxy proxy() {
    throw new UnsupportedOperationException("not yet");
  }

  /** The deny list; it answers DISABLED where the node has no prefilter device. */
  public Prefilter prefilter() {
    throw new UnsupportedOperationException("not yet");
  }

  /** Notifications. */
  public DatapathEvents events() {
    throw new UnsupportedOperationException("not yet");
  }

  /** Counters. */
  public DatapathMetrics metrics() {
    throw new UnsupportedOperationException("not yet");
  }

  /** How it is, now. */
  public DatapathStatus status() {
    throw new UnsupportedOperationException("not yet");
  }

  /** Stops the agents and leaves everything attached and pinned: packets do not notice. */
  @Override
  public void close() {}
}
