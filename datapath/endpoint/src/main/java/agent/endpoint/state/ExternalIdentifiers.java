package agent.endpoint.state;

/**
 * The identifiers that other programs use for an endpoint. Every reference may be null.
 *
 * @param containerId the runtime's id
 * @param containerName the runtime's name
 * @param containerInterfaceName the device in the workload's namespace
 * @param runtimeEndpointId the runtime's id of the network endpoint
 * @param runtimeNetworkId the runtime's id of the network
 * @param namespace the orchestrator's namespace
 * @param podName the orchestrator's name, without the namespace
 * @param podUid the orchestrator's unique id
 * @param legacyDisabled whether lookup by container id, container name and pod name is off
 */
public record ExternalIdentifiers(
    String containerId,
    String containerName,
    String containerInterfaceName,
    String runtimeEndpointId,
    String runtimeNetworkId,
    String namespace,
    String podName,
    String podUid,
    boolean legacyDisabled) {
  /** Returns {@code <container id>:<interface>}, or null where one of the two is unknown. */
  public String cniAttachmentId() {
    return containerId == null || containerInterfaceName == null
        ? null
        : containerId + ":" + containerInterfaceName;
  }

  /** Returns {@code <namespace>/<pod>}, or null where one of the two is unknown. */
  public String qualifiedPodName() {
    return namespace == null || podName == null ? null : namespace + "/" + podName;
  }
}
