package agent.launcher.view;

import agent.contract.daemon.DaemonStatusModel;
import agent.datapath.manager.DatapathManager;
import agent.dns.Names;
import agent.domain.AgentDomain;
import agent.domain.PeriodicController;
import agent.endpoint.DaemonConfiguration;
import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.ipam.Ipam;
import agent.node.ClusterNodes;
import agent.node.HostRouting;
import agent.node.NodeAddressing;
import agent.node.NodeInventory;
import agent.node.netfilter.MasqueradeGuard;
import agent.service.Services;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * The parts of a daemon that is ready.
 *
 * @param addressing addresses of the node
 * @param inventory reads what the node has now
 * @param nodes the nodes of the cluster
 * @param routing reads how flows are routed now
 * @param masquerading reads what masquerades now
 * @param ipam address allocation for workloads
 * @param datapath the datapath
 * @param subscribers counts the subscribers of live events
 * @param endpoints the endpoints
 * @param policy the policy
 * @param services the services
 * @param names the names that rules use
 * @param proxies reads what proxies listen, and what goes through them
 * @param configuration what can change at run time
 * @param controllers the periodic tasks
 */
public record StartedParts(
    NodeAddressing addressing,
    Supplier<NodeInventory> inventory,
    ClusterNodes nodes,
    Supplier<HostRouting> routing,
    Supplier<MasqueradeGuard.Mode> masquerading,
    Ipam ipam,
    DatapathManager datapath,
    IntSupplier subscribers,
    Endpoints endpoints,
    PolicyService policy,
    Services services,
    Names names,
    Supplier<DaemonStatusModel.Proxy> proxies,
    DaemonConfiguration configuration,
    List<PeriodicController> controllers) {
  /** The daemon is starting: no part is ready. */
  static final StartedParts NONE =
      new StartedParts(
          null, null, null, null, null, null, null, null, null, null, null, null, null, null,
          List.of());

  /**
   * Returns the parts of a daemon whose domain has started.
   *
   * @param subscribers counts the subscribers of live events
   * @param proxies reads what proxies listen, and what goes through them
   */
  public static StartedParts of(
      AgentDomain domain, IntSupplier subscribers, Supplier<DaemonStatusModel.Proxy> proxies) {
    return new StartedParts(
        domain.addressing(),
        domain::inventory,
        domain.nodes(),
        domain::routing,
        domain::masquerading,
        domain.ipam(),
        domain.datapath(),
        subscribers,
        domain.endpoints(),
        domain.policy(),
        domain.services(),
        domain.names(),
        proxies,
        domain.configuration(),
        domain.controllers());
  }
}
