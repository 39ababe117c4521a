package agent.policy.rule;

import agent.identity.Identity;
import agent.identity.ReservedIdentity;
import agent.types.Prefix;
import java.util.Optional;
import java.util.function.Predicate;

/** A peer that is known by name (decisions.md, section 5). */
public enum Entity implements PeerSelector {
  /** Every peer, whatever its identity. */
  ALL("all", identity -> true),
  /** Every address outside the cluster, CIDRs included. */
  WORLD("world", identity -> isWorld(identity, true) || isWorld(identity, false)),
  /** Every IPv4 address outside, IPv4 CIDRs included. */
  WORLD_IPV4("world-ipv4", identity -> isWorld(identity, true)),
  /** Every IPv6 address outside, IPv6 CIDRs included. */
  WORLD_IPV6("world-ipv6", identity -> isWorld(identity, false)),
  /** All endpoints and nodes: everything but the world. */
  CLUSTER("cluster", identity -> !isWorld(identity, true) && !isWorld(identity, false)),
  /** This node. */
  HOST("host", is(ReservedIdentity.HOST)),
  /** Endpoints without labels. */
  INIT("init", is(ReservedIdentity.INIT)),
  /** Health endpoints. */
  HEALTH("health", is(ReservedIdentity.HEALTH)),
  /** Workloads that no agent manages. */
  UNMANAGED("unmanaged", is(ReservedIdentity.UNMANAGED)),
  /** Other nodes. */
  REMOTE_NODE("remote-node", is(ReservedIdentity.REMOTE_NODE)),
  /** The orchestrator's API server. */
  ORCH_APISERVER("orch-apiserver", is(ReservedIdentity.ORCH_APISERVER)),
  /** No peer. */
  NONE("none", identity -> false);

  private final String text;
  private final Predicate<Identity> test;

  Entity(String text, Predicate<Identity> test) {
    this.text = text;
    this.test = test;
  }

  private static Predicate<Identity> is(ReservedIdentity reserved) {
    return identity -> identity.id() == reserved.id();
  }

  private static boolean isWorld(Identity identity, boolean ipv4) {
    return identity.id() == ReservedIdentity.WORLD.id()
        || identity.id() == ReservedIdentity.world(ipv4).id()
        || identity.outside().map(Prefix::isIpv4).filter(own -> own == ipv4).isPresent();
  }

  /** Returns the entity with this name. */
  public static Optional<Entity> named(String text) {
    for (final Entity entity : values()) {
      if (entity.text.equals(text)) {
        return Optional.of(entity);
      }
    }
    return Optional.empty();
  }

  @Override
  public boolean selects(Identity identity) {
    return test.test(identity);
  }

  @Override
  public String text() {
    return text;
  }
}
