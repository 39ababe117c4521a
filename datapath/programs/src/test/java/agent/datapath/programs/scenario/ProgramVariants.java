package agent.datapath.programs.scenario;

import agent.maps.layout.BalancerConfigFlyweight;
import agent.maps.layout.NodeConfigFlyweight;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The combinations of load-time constants that change which code the verifier walks, for each
 * object that the agent loads.
 */
final class ProgramVariants {
  /**
   * The options of a node that endpoint and host programs read.
   *
   * @param families bit 0: IPv4, bit 1: IPv6, bit 2: NAT46, which needs both
   * @param limitsEvents whether the rate of events is limited
   * @param payloadBytes bytes of a packet in an event
   * @param nativeLength bits of the prefixes that are not masqueraded, or -1 without one
   * @param hasSocketPorts whether the kernel keeps ports for sockets of the node
   */
  record Node(
      int families,
      boolean limitsEvents,
      int payloadBytes,
      int nativeLength,
      boolean hasSocketPorts) {
    void write(NodeConfigFlyweight config) {
      config
          .enableIpv4(families & 1)
          .enableIpv6(families >> 1 & 1)
          .enableNat46(families >> 2)
          .nat46Range(Nat46Packets.RANGE_HIGH, 0)
          .tcpSynLifetimeNs(60 * ScenarioNode.SECOND_NS)
          .tcpEstablishedLifetimeNs(21_600 * ScenarioNode.SECOND_NS)
          .tcpClosingLifetimeNs(10 * ScenarioNode.SECOND_NS)
          .anyLifetimeNs(60 * ScenarioNode.SECOND_NS)
          .worldIdentity4(9)
          .worldIdentity6(10)
          .gateway4(ScenarioHost.HOST.ipv4Number())
          .gateway6(ScenarioHost.HOST.ipv6High(), ScenarioHost.HOST.ipv6Low())
          .node4(ScenarioHost.NODE.ipv4Number())
          .node6(ScenarioHost.NODE.ipv6High(), ScenarioHost.NODE.ipv6Low())
          .tcpCapacity(1_000_000)
          .anyCapacity(262_144)
          .flowSharePercent(50)
          .fragmentsPerSecond(1024)
          .eventsPerSecond(limitsEvents ? 100 : 0)
          .payloadBytes(payloadBytes)
          .native4Length(nativeLength + 1)
          .native6Length(nativeLength + 1)
          .socketPortFirst(hasSocketPorts ? 32_768 : 0)
          .socketPorts(hasSocketPorts ? 28_232 : 0);
    }
  }

  private static final int[] FAMILIES = {1, 2, 3, 7};
  private static final int[] PAYLOADS = {0, 128, 65_535};

  /** The default of a node with both families. */
  static final Node DEFAULT = new Node(3, true, 128, 32, true);

  private ProgramVariants() {}

  /**
   * Returns the combinations for a node.
   *
   * @param all every one; else each pair of two values, with each set of families
   */
  static List<Node> ofNode(boolean all) {
    final List<Node> variants = new ArrayList<>();
    for (final int families : FAMILIES) {
      for (int i = 0; i < 24; i++) {
        final int payload = i % 3;
        final boolean limitsEvents = (i / 3 & 1) != 0;
        final boolean hasPrefix = (i / 6 & 1) != 0;
        final boolean hasPorts = (i / 12 & 1) != 0;
        if (all || hasPorts == (hasPrefix ^ limitsEvents)) {
          variants.add(
              new Node(families, limitsEvents, PAYLOADS[payload], hasPrefix ? 24 : -1, hasPorts));
        }
      }
    }
    return variants;
  }

  /** Sets the constants of an object of the default feature set, but for those of a node. */
  static void write(ScenarioObject object, String name, int families) {
    if (name.endsWith("balancer")) {
      new BalancerConfigFlyweight()
          .wrap(object.constant("balancer_config"), 0)
          .enableIpv4(families & 1)
          .enableIpv6(families >> 1 & 1);
    }
    if (name.startsWith("prefilter")) {
      final UnsafeBuffer config = object.constant("prefilter_config");
      config.putByte(0, (byte) (families & 1));
      config.putByte(1, (byte) (families >> 1 & 1));
    }
  }

  /** Returns whether the object has the options of a node. */
  static boolean isOfNode(String name) {
    return name.equals("endpoint") || name.equals("host");
  }
}
