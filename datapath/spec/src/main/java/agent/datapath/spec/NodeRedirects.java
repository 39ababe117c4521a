package agent.datapath.spec;

import java.nio.file.Path;
import java.util.Map;

/** The flows that the datapath of this node sends to proxies. */
public interface NodeRedirects extends RedirectProxy {
  /**
   * Returns where a process that may only look these flows up finds them; waits for the kernel,
   * which has to take programs.
   *
   * @throws agent.types.OperationException where it does not
   */
  Source source();

  /**
   * What such a process needs.
   *
   * @param pins the pins of the maps, by the names of the maps
   * @param filters the pins of the filters for the sockets that proxies listen on
   * @param worldIdentity4 the identity of IPv4 addresses that no other identity is for
   * @param worldIdentity6 the same for IPv6
   */
  record Source(Map<String, Path> pins, Filters filters, int worldIdentity4, int worldIdentity6) {}

  /**
   * The pins of socket filters.
   *
   * @param tcp of the filter for sockets that listen
   * @param udp of that for sockets of datagrams
   */
  record Filters(Path tcp, Path udp) {}
}
