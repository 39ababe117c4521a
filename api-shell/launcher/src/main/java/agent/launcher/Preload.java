package agent.launcher;

import agent.contract.WireFormat;
import agent.launcher.log.AgentLog;
import org.apache.logging.log4j.LogManager;

/**
 * Initializes beside the main thread what every start needs and what depends on no option: the log
 * and the mapper of JSON, a fifth of the time of the main thread. The main thread waits where it
 * needs one of them earlier, and finds a failure there.
 */
final class Preload {
  private Preload() {}

  /** For the main thread, before a logger is made. */
  static void start() {
    AgentLog.prepare();
    final Thread thread = new Thread(Preload::run, "preload");
    thread.setDaemon(true);
    thread.start();
  }

  private static void run() {
    LogManager.getLogger(Preload.class);
    WireFormat.strictMapper();
  }
}
