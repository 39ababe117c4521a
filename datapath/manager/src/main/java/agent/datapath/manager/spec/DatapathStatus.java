package agent.datapath.manager.spec;

import java.util.List;

/**
 * How the datapath is, for {@code /healthz} and {@code /health}.
 *
 * @param tcMode what endpoints are attached by: TCX or CLSACT
 * @param kernelRelease of the running kernel
 * @param libbpfVersion of the loaded library
 * @param prefilterMode how the prefilter is attached, or null without one
 * @param endpoints endpoints that are attached
 * @param conntrack the garbage collector
 * @param modules health of each part
 */
public record DatapathStatus(
    TcMode tcMode,
    String kernelRelease,
    String libbpfVersion,
    PrefilterMode prefilterMode,
    int endpoints,
    Conntrack conntrack,
    List<ModuleHealth> modules) {

  /**
   * The conntrack garbage collector.
   *
   * @param intervalSec present time between two rounds
   * @param runs finished rounds
   * @param entries flows that the last sweeps left
   * @param visited flows that all sweeps saw
   * @param deleted flows that all sweeps deleted
   * @param lastDurationNs how long the last sweeps took
   */
  public record Conntrack(
      int intervalSec, long runs, long entries, long visited, long deleted, long lastDurationNs) {}
}
