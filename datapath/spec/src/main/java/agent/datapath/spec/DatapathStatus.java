package agent.datapath.spec;

import agent.datapath.spec.Prefilter.PrefilterMode;
import java.util.List;

/**
 * The status of the datapath, for {@code /healthz}.
 *
 * @param tcMode TCX or CLSACT
 * @param kernelRelease release of the running kernel
 * @param kernelLacks what the running kernel lacks, and what follows, one text a feature
 * @param libbpfVersion version of the loaded library
 * @param prefilterMode XDP mode of the prefilter, or null without one
 * @param balancerMode XDP mode of the load balancer, or null without one
 * @param endpoints number of attached endpoints
 * @param conntrack status of the conntrack garbage collector
 * @param ports what endpoints lacked of the ports of masqueraded flows
 */
public record DatapathStatus(
    TcMode tcMode,
    String kernelRelease,
    List<String> kernelLacks,
    String libbpfVersion,
    PrefilterMode prefilterMode,
    PrefilterMode balancerMode,
    int endpoints,
    Conntrack conntrack,
    Ports ports) {

  /**
   * What endpoints lacked of the ports of masqueraded flows.
   *
   * @param replaced half-open flows whose port a later one of the same endpoint has got
   * @param refused flows for which no port was free
   */
  public record Ports(long replaced, long refused) {}

  /**
   * The status of the conntrack garbage collector, summed over the tables.
   *
   * @param intervalSec current time between two rounds
   * @param runs finished rounds
   * @param entries entries that the last sweeps kept
   * @param visited entries that all sweeps visited
   * @param deleted entries that all sweeps deleted
   * @param lastDurationNs duration of the last sweeps
   * @param overflowed flows that endpoints have opened beyond their share of the tables
   */
  public record Conntrack(
      int intervalSec,
      long runs,
      long entries,
      long visited,
      long deleted,
      long lastDurationNs,
      long overflowed) {}
}
