package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.RedirectKind;

/** The policy map of one workload. */
final class WorkloadPolicy implements AutoCloseable {
  static final int TCP = 6;
  static final int UDP = 17;
  static final int SCTP = 132;

  private final BpfMap map;
  private final PolicyMap policy;

  WorkloadPolicy(ScenarioHost workload, PolicyMapArray array) {
    map = BpfMap.create(ScenarioNode.SHIPPED.policy(workload.id), "");
    policy = new PolicyMap(map);
    assertEquals(0, array.set(workload.id, map.fd()));
  }

  WorkloadPolicy allowTo(ScenarioHost peer, int protocol, int port) {
    return put(peer.identity, PolicyDirection.EGRESS, protocol, port, 64, 0);
  }

  WorkloadPolicy allowFrom(ScenarioHost peer, int protocol, int port) {
    return put(peer.identity, PolicyDirection.INGRESS, protocol, port, 64, 0);
  }

  WorkloadPolicy denyTo(ScenarioHost peer, int protocol, int port) {
    return put(peer.identity, PolicyDirection.EGRESS, protocol, port, 64, PolicyFlag.DENY.number());
  }

  WorkloadPolicy denyFrom(ScenarioHost peer, int protocol, int port) {
    return put(
        peer.identity, PolicyDirection.INGRESS, protocol, port, 64, PolicyFlag.DENY.number());
  }

  WorkloadPolicy allowFromAny(int protocol, int port) {
    return put(0, PolicyDirection.INGRESS, protocol, port, 64, 0);
  }

  WorkloadPolicy denyFromAny(int protocol) {
    return put(0, PolicyDirection.INGRESS, protocol, 0, 48, PolicyFlag.DENY.number());
  }

  WorkloadPolicy allowAllTo(ScenarioHost peer) {
    return put(peer.identity, PolicyDirection.EGRESS, 0, 0, 40, 0);
  }

  WorkloadPolicy allowPortsFrom(ScenarioHost peer, int protocol, int firstPort, int bits) {
    return put(peer.identity, PolicyDirection.INGRESS, protocol, firstPort, 48 + bits, 0);
  }

  WorkloadPolicy revokeTo(ScenarioHost peer, int protocol, int port) {
    assertEquals(
        0, policy.delete(peer.identity, PolicyDirection.EGRESS.number(), protocol, port, 64));
    return this;
  }

  WorkloadPolicy revokeFrom(ScenarioHost peer, int protocol, int port) {
    assertEquals(
        0, policy.delete(peer.identity, PolicyDirection.INGRESS.number(), protocol, port, 64));
    return this;
  }

  /** Allows all packets of a direction, as without enforcement. */
  WorkloadPolicy allowAll(PolicyDirection direction) {
    return put(0, direction, 0, 0, 40, PolicyFlag.ALLOWS_ALL.number());
  }

  WorkloadPolicy allowAll() {
    return allowAll(PolicyDirection.INGRESS).allowAll(PolicyDirection.EGRESS);
  }

  WorkloadPolicy revokeAll(PolicyDirection direction) {
    assertEquals(0, policy.delete(0, direction.number(), 0, 0, 40));
    return this;
  }

  WorkloadPolicy redirectTo(ScenarioHost peer, int protocol, int port, RedirectKind kind) {
    return redirect(peer.identity, PolicyDirection.EGRESS, protocol, port, kind);
  }

  WorkloadPolicy redirectFrom(ScenarioHost peer, int protocol, int port, RedirectKind kind) {
    return redirect(peer.identity, PolicyDirection.INGRESS, protocol, port, kind);
  }

  WorkloadPolicy redirectFromAny(int protocol, int port, RedirectKind kind) {
    return redirect(0, PolicyDirection.INGRESS, protocol, port, kind);
  }

  private WorkloadPolicy redirect(
      int identity, PolicyDirection direction, int protocol, int port, RedirectKind kind) {
    final int flags = PolicyFlag.REDIRECT.number();
    assertEquals(
        0, policy.upsert(identity, direction.number(), protocol, port, 64, flags, kind.number()));
    return this;
  }

  private WorkloadPolicy put(
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
