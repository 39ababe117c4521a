package agent.endpoint.state;

import java.time.Duration;
import java.time.Instant;
import java.util.UUID;

/**
 * The status of one periodic or retried task.
 *
 * @param name the task's name
 * @param uuid its unique id
 * @param errorRetry whether a failed run is retried
 * @param errorRetryBase the pause before the first retry
 * @param interval the pause between regular runs, zero where it runs on demand
 * @param consecutiveFailureCount failures since the last success
 * @param failureCount failed runs
 * @param successCount successful runs
 * @param lastFailureMessage why the last failed run failed, or null
 * @param lastFailure when the last failed run ended, or null
 * @param lastSuccess when the last successful run ended, or null
 */
public record ControllerStatus(
    String name,
    UUID uuid,
    boolean errorRetry,
    Duration errorRetryBase,
    Duration interval,
    int consecutiveFailureCount,
    int failureCount,
    int successCount,
    String lastFailureMessage,
    Instant lastFailure,
    Instant lastSuccess) {}
