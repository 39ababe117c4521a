package agent.policy.trace;

/**
 * The answer to a {@link PolicyQuery}.
 *
 * @param isAllowed whether every part of the question passes in both directions
 * @param log one line for each rule: what it says of the question
 */
public record PolicyTrace(boolean isAllowed, String log) {}
