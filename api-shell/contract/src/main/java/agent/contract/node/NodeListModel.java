package agent.contract.node;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Nodes of the cluster that were added and removed since the last request of a client.
 *
 * @param clientId the number to send as client-id with the next request
 * @param nodesAdded nodes that are new to the client or have changed
 * @param nodesRemoved nodes that are gone, or as they were before a change
 * @param self name of the node of this agent
 */
public record NodeListModel(
    @JsonProperty("client-id") Long clientId,
    @JsonProperty("nodes-added") List<NodeModel> nodesAdded,
    @JsonProperty("nodes-removed") List<NodeModel> nodesRemoved,
    @JsonProperty("self") String self) {}
