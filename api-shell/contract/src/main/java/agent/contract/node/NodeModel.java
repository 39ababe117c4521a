package agent.contract.node;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A node of the cluster.
 *
 * @param healthEndpointAddress addresses of the health endpoint of the node; absent where it has
 *     none
 * @param name cluster and node, separated by a slash
 * @param primaryAddress addresses of the node
 * @param secondaryAddresses further addresses of the node
 * @param source where the node is known from; local for the node of this agent
 */
public record NodeModel(
    @JsonProperty("health-endpoint-address") NodeAddressingModel healthEndpointAddress,
    @JsonProperty("name") String name,
    @JsonProperty("primary-address") NodeAddressingModel primaryAddress,
    @JsonProperty("secondary-addresses") List<NodeAddressModel> secondaryAddresses,
    @JsonProperty("source") String source) {}
