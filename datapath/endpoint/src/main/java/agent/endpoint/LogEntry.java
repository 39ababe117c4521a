package agent.endpoint;

import java.time.Instant;

/**
 * One status change of an endpoint.
 *
 * @param code {@code OK}, {@code Warning} or {@code Failure}
 * @param message what happened
 * @param state the state it is in since then
 * @param timestamp when
 */
public record LogEntry(String code, String message, EndpointState state, Instant timestamp) {}
