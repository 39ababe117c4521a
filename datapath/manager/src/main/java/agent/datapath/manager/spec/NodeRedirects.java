package agent.datapath.manager.spec;

import java.nio.file.Path;
import java.util.Map;

/** The flows that the datapath of this node sends to proxies. */
public interface NodeRedirects extends RedirectProxy {
  /** Returns where a process that may only look these flows up finds them. */
  Source source();

  /**
   * What such a process needs.
   *
   * @param pins the pins of the maps, by the names of the maps
   * @param worldIdentity4 the identity of IPv4 addresses that no other identity is for
   * @param worldIdentity6 the same for IPv6
   */
  record Source(Map<String, Path> pins, int worldIdentity4, int worldIdentity6) {}
}
