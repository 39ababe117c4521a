package agent.conductor;

/**
 * The health of one module of the agent (decisions.md, section 3, module health).
 *
 * @param moduleId stable name
 * @param level current level
 * @param message cause of the level, for operators
 * @param lastOkMs time of the last reading with level OK in epoch milliseconds, or 0
 * @param lastUpdatedMs time of this reading in epoch milliseconds
 */
public record ModuleHealth(
    String moduleId, Level level, String message, long lastOkMs, long lastUpdatedMs) {
  /** The levels of the API contract. */
  public enum Level {
    OK,
    DEGRADED,
    STOPPED,
    UNKNOWN
  }
}
