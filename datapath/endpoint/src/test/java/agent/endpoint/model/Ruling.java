package agent.endpoint.model;

import agent.maps.layout.DropReason;

/**
 * What must happen to a packet.
 *
 * @param reason why it is dropped; NONE where it passes
 * @param by the endpoint whose policy drops it; null where it passes, or where the program that
 *     meets the packet drops it whatever the policy
 * @param also the ruling that drops it as well, and may be reported instead; null for none
 */
public record Ruling(DropReason reason, ModelHost by, Ruling also) {
  /** The packet passes. */
  public static final Ruling PASS = new Ruling(DropReason.NONE, null, null);

  /** Returns the ruling on a packet that no policy needs to judge. */
  static Ruling dropped(DropReason reason) {
    return new Ruling(reason, null, null);
  }

  /** Returns the ruling of an endpoint's policy. */
  static Ruling dropped(DropReason reason, ModelHost by) {
    return new Ruling(reason, by, null);
  }

  /** Returns the ruling on a packet that two policies drop. */
  Ruling or(Ruling other) {
    return new Ruling(reason, by, other);
  }

  /** Returns whether the packet passes. */
  public boolean passes() {
    return reason == DropReason.NONE;
  }
}
