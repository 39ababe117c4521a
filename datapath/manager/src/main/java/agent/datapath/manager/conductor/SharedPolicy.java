package agent.datapath.manager.conductor;

import agent.maps.kernel.PolicyMap;
import org.agrona.collections.IntArrayList;

/** A policy map, and the endpoints that use it. For the conductor's thread. */
final class SharedPolicy {
  /** The identity of a policy that no other endpoint may share. */
  static final int NOT_SHARED = 0;

  private final int number;
  private final PolicyMap map;
  private final IntArrayList members = new IntArrayList();
  private int identity = NOT_SHARED;
  private boolean isKnown;
  private boolean isChanging;

  SharedPolicy(int number, PolicyMap map) {
    this.number = number;
    this.map = map;
  }

  /** Returns the index of the map in {@code policies}, which is in its name. */
  int number() {
    return number;
  }

  PolicyMap map() {
    return map;
  }

  /** Returns the ids of the endpoints that use the map. */
  IntArrayList members() {
    return members;
  }

  /** Returns the number of endpoints that use the map. */
  int size() {
    return members.size();
  }

  /** Returns whether another endpoint of an identity may use the map if its entries are equal. */
  boolean isShared(int ofIdentity) {
    return isKnown && !isChanging && ofIdentity != NOT_SHARED && identity == ofIdentity;
  }

  /** Returns whether the map holds the entries that were last requested for all members. */
  boolean isKnown() {
    return isKnown;
  }

  /** Sets that the map holds what was requested for endpoints of an identity. */
  void known(int ofIdentity) {
    identity = ofIdentity;
    isKnown = true;
    isChanging = false;
  }

  /** Sets that the map holds what the policies before and after a change both allow. */
  void changing() {
    isChanging = true;
  }

  /** Sets that a write has failed: no other endpoint may use the map until it is known again. */
  void uncertain() {
    isKnown = false;
  }
}
