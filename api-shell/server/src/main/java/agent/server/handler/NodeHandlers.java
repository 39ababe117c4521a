package agent.server.handler;

import static agent.server.handler.NodeEncoder.text;

import agent.contract.node.NodeAddressModel;
import agent.contract.node.NodeListModel;
import agent.contract.node.NodeModel;
import agent.node.ClusterNode;
import agent.node.ClusterNodes;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.IpAddress;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Routes of the nodes of the cluster. */
public final class NodeHandlers implements ApiHandler.Group {
  private static final String CLIENT_ID = "client-id";
  private static final String INTERNAL_IP = "InternalIP";
  private static final long NO_CLIENT = 0;

  private final ClusterNodes nodes;
  private final String self;

  /**
   * Creates the handlers.
   *
   * @param nodes the nodes of the cluster
   * @param self the name of this node
   */
  public NodeHandlers(ClusterNodes nodes, String self) {
    this.nodes = nodes;
    this.self = self;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(
        Route.LIST_NODES,
        request -> {
          final ClusterNodes.Changes changes =
              nodes.changesFor(clientId(request.header(CLIENT_ID).strip()));
          return Answer.ok(
              new NodeListModel(
                  changes.clientId(), encode(changes.added()), encode(changes.removed()), self));
        });
  }

  /** The contract calls it a UUID; a UUID, and a number out of range, are of no client. */
  private static long clientId(String text) {
    if (text.isEmpty()) {
      return NO_CLIENT;
    }
    try {
      return text.matches("[0-9]+") ? Long.parseLong(text) : noClient(text);
    } catch (NumberFormatException outOfRange) {
      return NO_CLIENT;
    }
  }

  private static long noClient(String text) {
    try {
      UUID.fromString(text);
      return NO_CLIENT;
    } catch (IllegalArgumentException e) {
      throw ApiRequest.badBody(CLIENT_ID, "'" + text + "' is neither a number nor a UUID");
    }
  }

  private static List<NodeModel> encode(List<ClusterNode> list) {
    return list.stream().map(NodeHandlers::encode).toList();
  }

  private static NodeModel encode(ClusterNode node) {
    return new NodeModel(
        null,
        node.name(),
        NodeEncoder.encode(node.addressing()),
        node.secondary().stream().map(NodeHandlers::secondary).toList(),
        node.source());
  }

  private static NodeAddressModel secondary(IpAddress address) {
    return new NodeAddressModel(INTERNAL_IP, null, true, text(address));
  }
}
