package agent.endpoint.state;

import java.time.Instant;

/**
 * One status change of an endpoint.
 *
 * @param code {@code OK}, {@code Warning} or {@code Failure}
 * @param message the cause of the change
 * @param state the new state
 * @param timestamp the time of the change
 */
public record LogEntry(String code, String message, EndpointState state, Instant timestamp) {}
