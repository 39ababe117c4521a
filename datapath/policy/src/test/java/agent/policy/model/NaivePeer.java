package agent.policy.model;

import agent.identity.LabelSet;
import agent.types.IpAddress;

/**
 * The other end of a packet, as a person sees it: what it is, and not which number it has.
 *
 * @param kind what it is
 * @param labels the labels of an endpoint, null for others
 * @param address the address of something outside, null for others
 */
public record NaivePeer(Kind kind, LabelSet labels, IpAddress address) {
  /** What a peer is. */
  public enum Kind {
    /** A workload; without labels it is an init endpoint. */
    ENDPOINT,
    /** This node. */
    HOST,
    /** Another node. */
    REMOTE_NODE,
    /** An address outside. */
    OUTSIDE
  }

  /** A workload with these labels. */
  public static NaivePeer endpoint(LabelSet labels) {
    return new NaivePeer(Kind.ENDPOINT, labels, null);
  }

  /** An address outside. */
  public static NaivePeer outside(IpAddress address) {
    return new NaivePeer(Kind.OUTSIDE, null, address);
  }

  /** This node. */
  public static NaivePeer host() {
    return new NaivePeer(Kind.HOST, null, null);
  }

  /** Another node. */
  public static NaivePeer remoteNode() {
    return new NaivePeer(Kind.REMOTE_NODE, null, null);
  }
}
