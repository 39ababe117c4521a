package agent.datapath.manager.spec;

/**
 * How one part of the agent is (decisions.md, section 3, module health).
 *
 * @param moduleId stable name
 * @param level how it is
 * @param message why, for people
 * @param lastOkMs epoch milliseconds of the last time it was OK, or 0
 * @param lastUpdatedMs epoch milliseconds of the last change or report
 */
public record ModuleHealth(
    String moduleId, Level level, String message, long lastOkMs, long lastUpdatedMs) {
  /** The contract's levels. */
  public enum Level {
    OK,
    DEGRADED,
    STOPPED,
    UNKNOWN
  }
}
