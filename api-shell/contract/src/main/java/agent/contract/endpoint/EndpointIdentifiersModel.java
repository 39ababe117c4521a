package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Names by which orchestrator and runtime know an endpoint.
 *
 * @param cniAttachmentId CNI attachment id
 * @param containerId container id
 * @param containerName container name
 * @param k8sNamespace orchestrator namespace
 * @param k8sPodName orchestrator pod name
 * @param podName namespace and pod name
 * @param runtimeEndpointId runtime endpoint id
 * @param runtimeNetworkId runtime network id
 */
public record EndpointIdentifiersModel(
    @JsonProperty("cni-attachment-id") String cniAttachmentId,
    @JsonProperty("container-id") String containerId,
    @JsonProperty("container-name") String containerName,
    @JsonProperty("k8s-namespace") String k8sNamespace,
    @JsonProperty("k8s-pod-name") String k8sPodName,
    @JsonProperty("pod-name") String podName,
    @JsonProperty("runtime-endpoint-id") String runtimeEndpointId,
    @JsonProperty("runtime-network-id") String runtimeNetworkId) {}
