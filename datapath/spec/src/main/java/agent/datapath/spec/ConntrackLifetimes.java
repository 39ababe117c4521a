package agent.datapath.spec;

/**
 * The time after the last packet of a flow at which its conntrack entry expires, in seconds.
 *
 * @param tcpSynSec TCP before the first reply
 * @param tcpEstablishedSec TCP after the first reply
 * @param tcpClosingSec TCP after FIN of both sides or RST
 * @param anySec UDP, ICMP and other protocols
 */
public record ConntrackLifetimes(
    int tcpSynSec, int tcpEstablishedSec, int tcpClosingSec, int anySec) {
  /** SYN 60 s, established 6 h, closing 10 s, others 60 s. */
  public static final ConntrackLifetimes DEFAULT = new ConntrackLifetimes(60, 6 * 3600, 10, 60);

  /** Checks that each lifetime is at least one second. */
  public ConntrackLifetimes {
    if (tcpSynSec < 1 || tcpEstablishedSec < 1 || tcpClosingSec < 1 || anySec < 1) {
      throw new IllegalArgumentException("a conntrack lifetime is at least one second");
    }
  }
}
