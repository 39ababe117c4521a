package agent.datapath.programs.load;

import agent.bindings.bpf.LibBpf;
import agent.bindings.net.NetworkNamespaceHandle;
import agent.conntrack.EndpointShares;
import agent.datapath.spec.ConntrackLifetimes;
import agent.datapath.spec.DatapathContext;
import agent.maps.layout.BalancerConfigFlyweight;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.concurrent.TimeUnit;

/**
 * Writes the options of the node into the load-time constants {@code node_config}, {@code
 * prefilter_config}, {@code balancer_config} and {@code socket_config}.
 */
public final class NodeConstants {
  /** An eighth of a table of fragments (maps/fragment_map.h). */
  private static final int FRAGMENTS_PER_SECOND = 1024;

  /** In this time a connection that goes on has sent a packet by which it gets an entry again. */
  private static final int FLOWS_LOST_SEC = 300;

  private final DatapathContext context;
  private final long namespaceCookie = NetworkNamespaceHandle.cookieOfThisThread();
  private volatile long balancerMac;
  private volatile long flowsLostUntilNs;

  /**
   * Creates a writer of the options of a concluded context. The network namespace of the calling
   * thread is that of the node.
   */
  public NodeConstants(DatapathContext context) {
    this.context = context;
  }

  /** Creates a writer for programs that begin while flows are carried over, or not. */
  public static NodeConstants of(DatapathContext context, ConntrackCarryOver carryOver) {
    final NodeConstants constants = new NodeConstants(context);
    if (carryOver.isPending()) {
      constants.flowsMayBeLost(System.nanoTime());
    }
    return constants;
  }

  /** Sets the MAC address of the device of the load balancer, first octet most significant. */
  public void balancerMac(long mac) {
    balancerMac = mac;
  }

  /**
   * Makes the programs expect missing conntrack entries for a while: tables are carried over.
   *
   * @param nowNs of {@link System#nanoTime}, which is the clock of the programs
   */
  public void flowsMayBeLost(long nowNs) {
    flowsLostUntilNs = nowNs + TimeUnit.SECONDS.toNanos(FLOWS_LOST_SEC);
  }

  /** Writes the constants that the object declares. */
  public void write(Constants constants) {
    if (constants.has("node_config")) {
      writeNode(constants);
    }
    if (constants.has("prefilter_config")) {
      constants
          .prefilter()
          .enableIpv4(context.enableIpv4() ? 1 : 0)
          .enableIpv6(context.enableIpv6() ? 1 : 0);
    }
    if (constants.has("balancer_config")) {
      writeBalancer(constants.balancer());
    }
    if (constants.has("socket_config")) {
      constants.socket().namespaceCookie(namespaceCookie);
    }
  }

  /** Returns of how many ports an endpoint has one, so that its part is the percentage at most. */
  private static int portShares(int percent) {
    return (100 + percent - 1) / percent;
  }

  private void writeBalancer(BalancerConfigFlyweight balancer) {
    final IpAddress source4 = context.balancing().sources().ipv4();
    final IpAddress source6 = context.balancing().sources().ipv6();
    balancer.mac(balancerMac);
    if (context.enableIpv4() && source4 != null) {
      balancer.enableIpv4(1).source4((int) source4.low());
    }
    if (context.enableIpv6() && source6 != null) {
      balancer.enableIpv6(1).source6(source6.high(), source6.low());
    }
  }

  private void writeNode(Constants constants) {
    final ConntrackLifetimes lifetimes = context.conntrackLifetimes();
    final var node =
        constants
            .node()
            .tcpSynLifetimeNs(TimeUnit.SECONDS.toNanos(lifetimes.tcpSynSec()))
            .tcpEstablishedLifetimeNs(TimeUnit.SECONDS.toNanos(lifetimes.tcpEstablishedSec()))
            .tcpClosingLifetimeNs(TimeUnit.SECONDS.toNanos(lifetimes.tcpClosingSec()))
            .anyLifetimeNs(TimeUnit.SECONDS.toNanos(lifetimes.anySec()))
            .worldIdentity4(context.worldIdentity4())
            .worldIdentity6(context.worldIdentity6())
            .enableIpv4(context.enableIpv4() ? 1 : 0)
            .enableIpv6(context.enableIpv6() ? 1 : 0)
            .tcpCapacity(EndpointShares.capacity(context.conntrackTcpMax(), LibBpf.possibleCpus()))
            .anyCapacity(EndpointShares.capacity(context.conntrackAnyMax(), LibBpf.possibleCpus()))
            .flowSharePercent(context.flowSharePercent())
            .fragmentsPerSecond(FRAGMENTS_PER_SECOND)
            .eventsPerSecond(context.eventsPerSecond())
            .payloadBytes(context.payloadBytes())
            .socketPortFirst(context.masquerading().socketPorts().first())
            .socketPorts(context.masquerading().socketPorts().count())
            .portShares(portShares(context.masquerading().endpointSharePercent()))
            .flowsLostUntilNs(flowsLostUntilNs);
    final IpAddress gateway4 = context.gateway4();
    if (gateway4 != null) {
      node.gateway4((int) gateway4.low()).node4((int) context.node4().low());
    }
    final IpAddress gateway6 = context.gateway6();
    if (gateway6 != null) {
      final IpAddress node6 = context.node6();
      node.gateway6(gateway6.high(), gateway6.low()).node6(node6.high(), node6.low());
    }
    if (context.masquerading().native4() != null) {
      final Prefix excluded = context.masquerading().native4();
      node.native4((int) excluded.address().low()).native4Length(excluded.length() + 1);
    }
    if (context.masquerading().native6() != null) {
      final IpAddress excluded = context.masquerading().native6().address();
      node.native6(excluded.high(), excluded.low())
          .native6Length(context.masquerading().native6().length() + 1);
    }
    if (context.masquerading().nat46Range() != null) {
      final IpAddress range = context.masquerading().nat46Range().address();
      node.nat46Range(range.high(), range.low()).enableNat46(1);
    }
  }
}
