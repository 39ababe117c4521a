package agent.datapath.manager.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;

/** One workload's policy map, in words. */
final class Verdicts implements AutoCloseable {
  static final int TCP = 6;
  static final int UDP = 17;
  static final int SCTP = 132;

  private final BpfMap map;
  private final PolicyMap policy;

  Verdicts(Party workload, PolicyMapArray array) {
    map = BpfMap.create(NodeMaps.policy(workload.id), "", 0);
    policy = new PolicyMap(map);
    assertEquals(0, array.set(workload.id, map.fd()));
  }

  Verdicts allowTo(Party peer, int protocol, int port) {
    return put(peer.identity, PolicyDirection.EGRESS, protocol, port, 64, 0);
  }

  Verdicts allowFrom(Party peer, int protocol, int port) {
    return put(peer.identity, PolicyDirection.INGRESS, protocol, port, 64, 0);
  }

  Verdicts denyTo(Party peer, int protocol, int port) {
    return put(peer.identity, PolicyDirection.EGRESS, protocol, port, 64, PolicyFlag.DENY.number());
  }

  Verdicts denyFrom(Party peer, int protocol, int port) {
    return put(
        peer.identity, PolicyDirection.INGRESS, protocol, port, 64, PolicyFlag.DENY.number());
  }

  Verdicts denyFromAnyone(int protocol) {
    return put(0, PolicyDirection.INGRESS, protocol, 0, 48, PolicyFlag.DENY.number());
  }

  Verdicts allowAnythingTo(Party peer) {
    return put(peer.identity, PolicyDirection.EGRESS, 0, 0, 40, 0);
  }

  Verdicts allowPortsFrom(Party peer, int protocol, int firstPort, int bits) {
    return put(peer.identity, PolicyDirection.INGRESS, protocol, firstPort, 48 + bits, 0);
  }

  Verdicts revokeTo(Party peer, int protocol, int port) {
    assertEquals(
        0, policy.delete(peer.identity, PolicyDirection.EGRESS.number(), protocol, port, 64));
    return this;
  }

  /** Enforcement off: the map says so itself. */
  Verdicts open(PolicyDirection direction) {
    return put(0, direction, 0, 0, 40, 0);
  }

  Verdicts open() {
    return open(PolicyDirection.INGRESS).open(PolicyDirection.EGRESS);
  }

  Verdicts close(PolicyDirection direction) {
    assertEquals(0, policy.delete(0, direction.number(), 0, 0, 40));
    return this;
  }

  private Verdicts put(
      int identity,
      PolicyDirection direction,
      int protocol,
      int port,
      int prefixLength,
      int flags) {
    assertEquals(
        0, policy.upsert(identity, direction.number(), protocol, port, prefixLength, flags, 0));
    return this;
  }

  @Override
  public void close() {
    map.close();
  }
}
