package agent.server.handler;

import static agent.server.handler.NodeEncoder.text;

import agent.contract.ipam.AddressPairModel;
import agent.contract.ipam.IpamAllocationModel;
import agent.ipam.AddressFamily;
import agent.ipam.Ipam;
import agent.ipam.Ipam.AddressAllocation;
import agent.ipam.Ipam.AllocatedAddress;
import agent.node.NodeAddressing;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.IpAddress;
import java.util.Map;

/** Routes of address allocation. */
public final class IpamHandlers implements ApiHandler.Group {
  private final Ipam ipam;
  private final NodeAddressing node;

  /**
   * Creates the handlers.
   *
   * @param ipam pools and leases
   * @param node addresses of the node
   */
  public IpamHandlers(Ipam ipam, NodeAddressing node) {
    this.ipam = ipam;
    this.node = node;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.ALLOCATE_ADDRESS, this::allocate);
    handlers.put(Route.ALLOCATE_THIS_ADDRESS, this::allocateThis);
    handlers.put(Route.RELEASE_ADDRESS, this::release);
  }

  private Answer allocate(ApiRequest request) {
    final AddressAllocation allocation =
        ipam.allocate(
            AddressFamily.parse(request.query("family")),
            request.query("owner"),
            request.query("pool"),
            request.headerSwitch("expiration"));
    return Answer.created(encode(allocation));
  }

  private Answer allocateThis(ApiRequest request) {
    ipam.allocateAddress(
        "ip",
        IpAddress.parse("ip", request.path("ip")),
        request.query("owner"),
        request.query("pool"));
    return Answer.ok();
  }

  private Answer release(ApiRequest request) {
    ipam.release("ip", IpAddress.parse("ip", request.path("ip")), request.query("pool"));
    return Answer.ok();
  }

  private IpamAllocationModel encode(AddressAllocation allocation) {
    final AllocatedAddress ipv4 = allocation.ipv4().orElse(null);
    final AllocatedAddress ipv6 = allocation.ipv6().orElse(null);
    return new IpamAllocationModel(
        new AddressPairModel(
            ipv4 == null ? null : text(ipv4.address()),
            ipv4 == null ? null : ipv4.expirationUuid(),
            ipv4 == null ? null : ipv4.pool(),
            ipv6 == null ? null : text(ipv6.address()),
            ipv6 == null ? null : ipv6.expirationUuid(),
            ipv6 == null ? null : ipv6.pool()),
        NodeEncoder.encode(node),
        family(ipv4),
        family(ipv6));
  }

  private static IpamAllocationModel.Family family(AllocatedAddress allocated) {
    return allocated == null
        ? null
        : new IpamAllocationModel.Family(
            allocated.cidrs().stream().map(Object::toString).toList(),
            allocated.expirationUuid(),
            text(allocated.gateway()),
            null,
            text(allocated.address()),
            null);
  }
}
