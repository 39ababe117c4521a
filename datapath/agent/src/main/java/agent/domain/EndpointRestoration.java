package agent.domain;

import agent.datapath.manager.DatapathManager;
import agent.endpoint.EndpointConductor;
import agent.endpoint.restore.RestoreReport;
import agent.types.OperationException;
import java.util.concurrent.ExecutionException;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Restores the endpoints of the previous run, and logs the result. */
final class EndpointRestoration {
  private static final Logger LOGGER = LogManager.getLogger(EndpointRestoration.class);

  private EndpointRestoration() {}

  /**
   * Starts the restoration, which goes on while the API is served; returns when the endpoints of
   * the previous run are known. It has no deadline: their programs and maps are pinned and enforce.
   */
  static void begin(DatapathManager datapath, EndpointConductor conductor)
      throws InterruptedException {
    conductor
        .restore()
        .whenComplete(
            (report, failure) -> {
              if (failure == null) {
                datapath.endpointsRestored();
                report(report);
              } else {
                LOGGER.error("restore: {}", failure.getMessage(), failure);
              }
            });
    try {
      conductor.loaded().get();
    } catch (ExecutionException e) {
      throw new OperationException("restore: " + e.getCause().getMessage(), e.getCause());
    }
  }

  /** Logs the numbers of the endpoints; the errors are logged where they occur. */
  private static void report(RestoreReport report) {
    if (!report.restored().isEmpty()) {
      LOGGER.info("restored endpoints {}", report.restored());
    }
    if (!report.removed().isEmpty()) {
      LOGGER.warn("removed endpoints {}: their interfaces do not exist", report.removed());
    }
    if (!report.failed().isEmpty()) {
      LOGGER.warn(
          "endpoints {} keep their previous programs: the restore failed and is retried",
          report.failed());
    }
  }
}
