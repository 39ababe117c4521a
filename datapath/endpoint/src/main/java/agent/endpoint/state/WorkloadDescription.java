package agent.endpoint.state;

/**
 * The description of a workload from the create request, stored unchanged. Every value may be null.
 *
 * @param netnsCookie the cookie of its network namespace
 * @param pid its process id
 * @param datapathMapId the id of a tail call map
 * @param policyEnabled absent in requests; a record of an earlier release may have it
 * @param properties JSON text
 */
public record WorkloadDescription(
    String netnsCookie,
    Integer pid,
    Integer datapathMapId,
    Boolean policyEnabled,
    String properties) {}
