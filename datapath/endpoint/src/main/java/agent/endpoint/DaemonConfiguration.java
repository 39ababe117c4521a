package agent.endpoint;

import agent.endpoint.config.RuntimeOptions;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The API of the configuration that can change while the daemon runs. Thread-safe. */
public interface DaemonConfiguration {
  /** Returns what was asked for last. */
  RuntimeOptions wanted();

  /** Returns what is in force. */
  RuntimeOptions realized();

  /**
   * Changes the configuration, all or nothing. The options are those of new endpoints from now on,
   * and are set on every present endpoint, which is regenerated where that changes it. The change
   * is stored before the future completes. Where the agent ends before that, the next run has all
   * of it or nothing.
   *
   * @param options option name to value; null changes none
   * @param enforcement {@code default}, {@code always} or {@code never}; null does not change it
   * @return completes when every endpoint has the options and the enforcement; or Refusal INVALID
   *     (unknown or immutable option, bad value), or OperationException (the change is undone)
   */
  CompletableFuture<Void> change(Map<String, String> options, String enforcement);
}
