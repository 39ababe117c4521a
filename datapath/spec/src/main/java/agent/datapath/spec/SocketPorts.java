package agent.datapath.spec;

/**
 * The ports that the kernel takes for sockets of the node that ask for none. The kernel does not
 * know masqueraded flows, so that these never get them: a socket with the address and the port of
 * one could not send to its destination.
 *
 * @param first the first port
 * @param count the number of ports; 0: masqueraded flows may get any
 */
public record SocketPorts(int first, int count) {
  /** Masqueraded flows may get any port. */
  public static final SocketPorts NONE = new SocketPorts(0, 0);

  private static final int PRIVILEGED = 1024;
  private static final int END = 1 << 16;

  /** What is left for masqueraded flows to one destination. */
  private static final int FEWEST_LEFT = 4096;

  public SocketPorts {
    if (count != 0
        && (first < PRIVILEGED
            || count < 0
            || first + count > END
            || END - PRIVILEGED - count < FEWEST_LEFT)) {
      throw new IllegalArgumentException("socket ports " + first + " and " + (count - 1) + " more");
    }
  }

  /**
   * Reads the range from {@code net.ipv4.ip_local_port_range}, which is that of both families
   * (ip(7)): the first port and the last. Privileged ports are not counted among them. A range that
   * leaves too few ports for masqueraded flows is shared with them: they get its first quarter, in
   * which a socket may meet one of them.
   */
  public static SocketPorts parse(String range) {
    final String[] ends = range.strip().split("\\s+");
    final int first = Math.max(PRIVILEGED, Integer.parseInt(ends[0]));
    final int count = Math.max(0, Integer.parseInt(ends[1]) + 1 - first);
    final int shared = END - PRIVILEGED - count < FEWEST_LEFT ? count / 4 : 0;
    return new SocketPorts(first + shared, count - shared);
  }
}
