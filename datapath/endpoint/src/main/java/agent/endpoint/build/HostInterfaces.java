package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointAttachmentProxy.HostInterface;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.InterfaceName;
import agent.node.WorkloadRoutes;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/**
 * Sets interfaces of workloads down before their programs are detached. The kernel gives the index
 * and the name of a deleted interface to others, so that the datapath's link or the MAC address
 * decides whether an interface is the workload's. Runs on the conductor's thread.
 */
public final class HostInterfaces {
  private final ConductorAgent conductor;
  private final EndpointAttachmentProxy datapath;
  private final Devices devices;
  private final WorkloadRoutes routes;

  /** Creates the access to the host interfaces of workloads. */
  public HostInterfaces(
      ConductorAgent conductor,
      EndpointAttachmentProxy datapath,
      Devices devices,
      WorkloadRoutes routes) {
    this.conductor = conductor;
    this.datapath = datapath;
    this.devices = devices;
    this.routes = routes;
  }

  /**
   * Sets the interface down that the datapath knows as that of an endpoint.
   *
   * @param isAllowed decides about the interface that was found
   * @return the errors, empty where there is no such interface any more
   */
  public CompletableFuture<List<String>> setDown(int endpointId, Predicate<Device> isAllowed) {
    return find(endpointId)
        .thenApplyAsync(
            device ->
                device
                    .filter(Device::isVeth)
                    .filter(isAllowed)
                    .map(found -> InterfaceName.check("interface", found.name()))
                    .map(routes::setDown)
                    .orElse(List.of()),
            conductor::run);
  }

  /** Returns the present interface that the datapath knows as that of an endpoint. */
  CompletableFuture<Optional<Device>> find(int endpointId) {
    return datapath.hostInterfaceOf(endpointId).thenApplyAsync(this::present, conductor::run);
  }

  private Optional<Device> present(HostInterface found) {
    return found.ifindex() == 0
        ? Optional.empty()
        : devices
            .byIndex(found.ifindex())
            .filter(device -> device.mac() != null && found.is(device.index(), device.mac()));
  }
}
