package agent.endpoint;

import java.util.List;

/**
 * What a restart made of the endpoints.
 *
 * @param restored ids of the endpoints that enforce their policy again
 * @param failed ids of those that do not, or on older programs or policy; they are tried again
 * @param removed ids of those whose interface is gone
 * @param errors what else went wrong
 */
public record RestoreReport(
    List<Integer> restored, List<Integer> failed, List<Integer> removed, List<String> errors) {}
