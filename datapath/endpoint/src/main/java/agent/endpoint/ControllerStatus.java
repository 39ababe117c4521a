package agent.endpoint;

import java.time.Duration;
import java.time.Instant;
import java.util.UUID;

/**
 * What one repeated task has done so far.
 *
 * @param name the task's name
 * @param uuid its unique id
 * @param errorRetry whether a failed run is tried again
 * @param errorRetryBase the first pause before that
 * @param interval the pause between regular runs, zero where it runs on demand
 * @param consecutiveFailureCount failures since the last success
 * @param failureCount failed runs
 * @param successCount successful runs
 * @param lastFailureMessage why the last failed run failed, or null
 * @param lastFailure when that was, or null
 * @param lastSuccess when the last successful run was, or null
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
