package agent.endpoint.restore;

import java.util.List;

/**
 * The result of restoring the endpoints of the previous run.
 *
 * @param restored ids of the endpoints that enforce their policy again
 * @param failed ids of endpoints that do not, or run older programs or policy; they are built again
 * @param removed ids of endpoints whose interface no longer exists
 * @param errors the other errors
 */
public record RestoreReport(
    List<Integer> restored, List<Integer> failed, List<Integer> removed, List<String> errors) {}
