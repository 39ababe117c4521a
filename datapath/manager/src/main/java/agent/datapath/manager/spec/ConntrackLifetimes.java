package agent.datapath.manager.spec;

/**
 * How long a flow stays known without a packet.
 *
 * @param tcpSynSec until a reply was seen
 * @param tcpEstablishedSec after it
 * @param tcpClosingSec after FIN of both sides or RST
 * @param anySec UDP, ICMP and the rest
 */
public record ConntrackLifetimes(
    int tcpSynSec, int tcpEstablishedSec, int tcpClosingSec, int anySec) {
  /** SYN 60 s, established 6 h, closing 10 s, others 60 s. */
  public static final ConntrackLifetimes DEFAULT = new ConntrackLifetimes(60, 6 * 3600, 10, 60);

  /** Checks that each is at least a second. */
  public ConntrackLifetimes {
    if (tcpSynSec < 1 || tcpEstablishedSec < 1 || tcpClosingSec < 1 || anySec < 1) {
      throw new IllegalArgumentException("a conntrack lifetime is at least one second");
    }
  }
}
