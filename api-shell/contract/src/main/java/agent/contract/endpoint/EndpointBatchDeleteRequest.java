package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Body of DELETE /endpoint.
 *
 * @param containerId container id of the endpoints to delete
 */
public record EndpointBatchDeleteRequest(
    @JsonProperty(value = "container-id", required = true) String containerId) {}
