package agent.endpoint;

/**
 * What the creator of an endpoint said of its workload, kept as it was said. Every value may be
 * null.
 *
 * @param netnsCookie the cookie of its network namespace
 * @param pid its process id
 * @param datapathMapId the id of a tail call map
 * @param policyEnabled whether the creator thinks policy is enforced
 * @param properties JSON text
 */
public record WorkloadDescription(
    String netnsCookie,
    Integer pid,
    Integer datapathMapId,
    Boolean policyEnabled,
    String properties) {}
