package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import java.util.List;

/** A network outside with one host, which knows the node by its own addresses and no route. */
final class WorldNetwork {
  /** The device of the node. */
  static final String DEVICE = "net0";

  /** The addresses of the host, one for each family. */
  static final List<String> ADDRESSES = List.of("192.0.2.2", "2001:db8:2::2");

  private WorldNetwork() {}

  /** Connects a node by its device, and returns the host, which ends with the node. */
  static NetworkNamespace connect(TestNode node) {
    final NetworkNamespace world = NetworkNamespace.create("world");
    node.keep(world);
    VethPair.create(node.namespace(), DEVICE, world, "eth0");
    node.namespace().ip("address add 192.0.2.1/24 dev " + DEVICE);
    world.ip("address add 192.0.2.2/24 dev eth0");
    for (final String prefix : List.of("2001:db8:2::", "fe80::")) {
      node.namespace().ip("-6 address replace " + prefix + "1/64 dev " + DEVICE + " nodad");
      world.ip("-6 address replace " + prefix + "2/64 dev eth0 nodad");
    }
    return world;
  }
}
