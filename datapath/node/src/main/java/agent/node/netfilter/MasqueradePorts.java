package agent.node.netfilter;

/**
 * The ports of masqueraded flows: those that the kernel takes for sockets of this node are not
 * among them, so that the node's own sockets always have theirs.
 *
 * @param first the first port
 * @param last the last port
 * @param share how many of them the flows of one workload to one port of one host may have
 */
public record MasqueradePorts(int first, int last, int share) {
  private static final int PRIVILEGED = 1024;
  private static final int END = 1 << 16;

  /**
   * Returns the larger part beside the ports of sockets; netfilter takes one range.
   *
   * @param first the first port of sockets
   * @param count how many there are
   * @param percent the part of an endpoint
   */
  public static MasqueradePorts beside(int first, int count, int percent) {
    final int below = first - PRIVILEGED;
    final int above = END - first - count;
    final int from = count == 0 || below >= above ? PRIVILEGED : first + count;
    final int ports = count == 0 ? END - PRIVILEGED : Math.max(below, above);
    return new MasqueradePorts(from, from + ports - 1, Math.max(1, ports * percent / 100));
  }

  /** Returns them as netfilter's tools write a range. */
  String range() {
    return first + "-" + last;
  }
}
