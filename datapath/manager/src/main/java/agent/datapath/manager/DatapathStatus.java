package agent.datapath.manager;

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
   * @param intervalSec time between two runs
   * @param runs finished runs
   * @param scanned entries seen by the last run
   * @param deleted entries deleted by the last run
   * @param lastDurationNs how long the last run took
   * @param totalDeleted entries deleted since launch
   */
  public record Conntrack(
      int intervalSec,
      long runs,
      long scanned,
      long deleted,
      long lastDurationNs,
      long totalDeleted) {}
}
