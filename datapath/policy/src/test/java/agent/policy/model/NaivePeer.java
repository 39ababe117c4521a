package agent.policy.model;

import agent.identity.LabelSet;
import agent.types.IpAddress;

/**
 * The peer of a packet, described by kind, labels or address instead of an identity number.
 *
 * @param kind the kind of peer
 * @param labels the labels of an endpoint, null for others
 * @param address the address of a peer outside the cluster, null for others
 */
public record NaivePeer(Kind kind, LabelSet labels, IpAddress address) {
  /** The kinds of peers. */
  public enum Kind {
    /** A workload; without labels it is an init endpoint. */
    ENDPOINT,
    /** This node. */
    HOST,
    /** Another node. */
    REMOTE_NODE,
    /** An address outside the cluster. */
    OUTSIDE
  }

  /** Returns a workload with these labels. */
  public static NaivePeer endpoint(LabelSet labels) {
    return new NaivePeer(Kind.ENDPOINT, labels, null);
  }

  /** Returns a peer outside the cluster. */
  public static NaivePeer outside(IpAddress address) {
    return new NaivePeer(Kind.OUTSIDE, null, address);
  }

  /** Returns this node. */
  public static NaivePeer host() {
    return new NaivePeer(Kind.HOST, null, null);
  }

  /** Another node. */
  public static NaivePeer remoteNode() {
    return new NaivePeer(Kind.REMOTE_NODE, null, null);
  }
}
