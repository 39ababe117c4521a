package agent.domain.node;

import agent.datapath.spec.Balancing;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.PrefilterStore;
import agent.dns.DnsNameResolver;
import agent.dns.NameResolver;
import agent.ipam.AddressPool;
import agent.ipam.IpamContext;
import agent.ipam.LeaseStore;
import agent.node.FamilyAddressing;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The contexts of parts as far as they depend on what a node has.
 *
 * @param addressing addresses and ranges of the node
 * @param devices the index of each guarded device, by name
 * @param addresses those of devices, by name
 */
public record NodeContexts(
    NodeAddressing addressing, Map<String, Integer> devices, Map<String, AddressPair> addresses) {
  private static final Duration SERVER_TIMEOUT = Duration.ofSeconds(2);

  /** Returns the contexts of a node as it is now. */
  public static NodeContexts of(Node node) {
    return new NodeContexts(
        node.addressing(), node.guardedDevices().present(), node.guardedDevices().addresses());
  }

  /**
   * Completes the context of the datapath, without concluding it.
   *
   * @param options what options say
   * @param balancer the device that balances services; null: none does
   * @param bypassesStack whether flows bypass the stack at the start
   * @param store the store of the deny list
   * @return the same context
   * @throws agent.types.Refusal INVALID where an option of masquerading contradicts the node
   */
  public DatapathContext datapath(
      DatapathContext options,
      MasqueradeOptions masquerade,
      String balancer,
      boolean bypassesStack,
      PrefilterStore store) {
    return options
        .devices(devices)
        .masquerading(masquerade.masquerading(addresses, addressing))
        .balancing(balancing(balancer))
        .bypassesStack(bypassesStack)
        .prefilterStore(store)
        .enableIpv4(addressing.ipv4().enabled())
        .enableIpv6(addressing.ipv6().enabled())
        .gateway4(addressing.ipv4().gateway())
        .gateway6(addressing.ipv6().gateway())
        .node4(addressing.ipv4().node())
        .node6(addressing.ipv6().node());
  }

  /** The outer sources are the addresses of the device, or those of the node where it has none. */
  private Balancing balancing(String device) {
    if (device == null) {
      return Balancing.NONE;
    }
    final AddressPair own = addresses.getOrDefault(device, AddressPair.NONE);
    return new Balancing(
        device,
        new AddressPair(
            own.ipv4() == null ? addressing.ipv4().node() : own.ipv4(),
            own.ipv6() == null ? addressing.ipv6().node() : own.ipv6()));
  }

  /**
   * Returns the concluded context of leases, which are from the ranges of the node and none of its
   * own addresses.
   *
   * @param storing runs writes to the store; its future completes when they are durable
   */
  public IpamContext ipam(LeaseStore store, Function<Runnable, CompletableFuture<Void>> storing) {
    final FamilyAddressing ipv4 = addressing.ipv4();
    final FamilyAddressing ipv6 = addressing.ipv6();
    final List<Prefix> ranges = new ArrayList<>();
    final List<IpAddress> own = new ArrayList<>();
    for (final FamilyAddressing family : List.of(ipv4, ipv6)) {
      if (family.enabled()) {
        ranges.add(family.range());
        own.add(family.node());
      }
    }
    final IpamContext context =
        new IpamContext()
            .pool(new AddressPool(AddressPool.DEFAULT, ranges))
            .families(ipv4.enabled(), ipv6.enabled())
            .gateways(ipv4.gateway(), ipv6.gateway())
            .store(store)
            .storing(storing);
    own.forEach(context::reserve);
    return context.conclude();
  }

  /** Returns what asks these servers for addresses of the families that the node has. */
  public NameResolver resolver(Supplier<List<InetSocketAddress>> servers) {
    return new DnsNameResolver(
        servers, addressing.ipv4().enabled(), addressing.ipv6().enabled(), SERVER_TIMEOUT);
  }
}
