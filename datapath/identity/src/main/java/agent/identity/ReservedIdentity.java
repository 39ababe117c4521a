package agent.identity;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The identities with fixed numbers (decisions.md, section 5). The label of each is {@code
 * reserved:name}. An address outside that no ipcache prefix covers is {@link #WORLD_IPV4} or {@link
 * #WORLD_IPV6}; {@link #WORLD} stands for both in rules.
 */
public enum ReservedIdentity {
  /** This node. */
  HOST(1, "host"),
  /** Everything outside, of either family. */
  WORLD(2, "world"),
  /** A workload that no agent manages. */
  UNMANAGED(3, "unmanaged"),
  /** The node's health endpoint. */
  HEALTH(4, "health"),
  /** An endpoint without labels. */
  INIT(5, "init"),
  /** Another node. */
  REMOTE_NODE(6, "remote-node"),
  /** The orchestrator's API server. */
  ORCH_APISERVER(7, "orch-apiserver"),
  /** The ingress proxy. */
  INGRESS(8, "ingress"),
  /** Every IPv4 address outside. */
  WORLD_IPV4(9, "world-ipv4"),
  /** Every IPv6 address outside. */
  WORLD_IPV6(10, "world-ipv6");

  private static final ReservedIdentity[] ALL = values();

  private final Label label;
  private final Identity identity;

  ReservedIdentity(int id, String name) {
    label = Label.reserved(name);
    identity = new Identity(id, LabelSet.of(label));
  }

  /** Returns the number. */
  public int id() {
    return identity.id();
  }

  /** Returns the label, for example {@code reserved:host}. */
  public Label label() {
    return label;
  }

  /** Number and labels. */
  public Identity identity() {
    return identity;
  }

  /** Returns the identity of addresses outside, by family. */
  public static ReservedIdentity world(boolean ipv4) {
    return ipv4 ? WORLD_IPV4 : WORLD_IPV6;
  }

  /** Returns the reserved identity with this number, where there is one. */
  public static Optional<ReservedIdentity> of(int id) {
    return id >= 1 && id <= ALL.length ? Optional.of(ALL[id - 1]) : Optional.empty();
  }

  /** Returns all of them by number. */
  public static List<Identity> identities() {
    return Arrays.stream(ALL).map(ReservedIdentity::identity).toList();
  }
}
