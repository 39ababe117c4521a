package agent.contract.daemon;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Health of the modules of the daemon.
 *
 * @param modules modules
 */
public record ModuleHealthModel(@JsonProperty("modules") List<Module> modules) {

  /**
   * Health of one module.
   *
   * @param lastOk when it was last well, RFC 3339
   * @param lastUpdated when it last reported, RFC 3339
   * @param level OK, Degraded, Stopped or Unknown
   * @param message message
   * @param moduleId module
   */
  public record Module(
      @JsonProperty("last-ok") String lastOk,
      @JsonProperty("last-updated") String lastUpdated,
      @JsonProperty("level") String level,
      @JsonProperty("message") String message,
      @JsonProperty("module-id") String moduleId) {}
}
