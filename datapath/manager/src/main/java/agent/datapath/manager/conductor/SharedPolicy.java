package agent.datapath.manager.conductor;

import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointFaults.Part;
import agent.maps.kernel.BpfMap;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.MapFaults;
import agent.reconcile.Realization;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.IntArrayList;

/**
 * A policy map with its desired entries, and the endpoints that use it: their verdicts are judged
 * again once a change of the map is complete, or an entry was retried or repaired, and its faults
 * are in the health of the first. For the conductor's thread.
 */
final class SharedPolicy implements Realization, MapFaults {
  /** The identity of a policy that no other endpoint may share. */
  static final int NOT_SHARED = 0;

  private final int number;
  private final BpfMap map;
  private final VerdictGenerations generations;
  private final KernelFaults faults;
  private final DesiredTable table;
  private final PolicyEntryCodec codec = new PolicyEntryCodec();
  private final IntArrayList members = new IntArrayList();
  private int identity = NOT_SHARED;
  private boolean isKnown;
  private boolean isChanging;
  private boolean isPending;
  private boolean isWritten;

  SharedPolicy(int number, BpfMap map, VerdictGenerations generations, KernelFaults faults) {
    this.number = number;
    this.map = map;
    this.generations = generations;
    this.faults = faults;
    table = new DesiredTable(new BpfTargetMap(map), 1, 0, this, this);
  }

  /** Returns the index of the map in {@code policies}, which is in its name. */
  int number() {
    return number;
  }

  BpfMap map() {
    return map;
  }

  /** Returns the desired entries. */
  DesiredTable table() {
    return table;
  }

  /** Returns the ids of the endpoints that use the map. */
  IntArrayList members() {
    return members;
  }

  /** Returns the number of endpoints that use the map. */
  int size() {
    return members.size();
  }

  /** Returns the endpoint in whose health the faults of the map are, or 0. */
  int endpointId() {
    return members.isEmpty() ? 0 : members.getInt(0);
  }

  /** Returns whether another endpoint of an identity may use the map if its entries are equal. */
  boolean isShared(int ofIdentity) {
    return isKnown && !isChanging && ofIdentity != NOT_SHARED && identity == ofIdentity;
  }

  /** Returns whether the desired entries are those that were last requested for all members. */
  boolean isKnown() {
    return isKnown;
  }

  /** Sets that the map is to hold what was requested for endpoints of an identity. */
  void known(int ofIdentity) {
    identity = ofIdentity;
    isKnown = true;
    isChanging = false;
  }

  /** Sets that the map is to hold what the policies before and after a change both allow. */
  void changing() {
    isChanging = true;
  }

  /** Sets that the map holds what the new policies allow. */
  void settled() {
    isChanging = false;
  }

  /** Sets that a write has failed: no other endpoint may use the map until it is known again. */
  void uncertain() {
    isKnown = false;
  }

  /** Returns whether a change of the map is not complete yet. */
  boolean isPending() {
    return isPending;
  }

  /** Begins a change of the map. */
  void begin() {
    isPending = true;
  }

  /** Ends a change of the map. */
  void end(boolean raises) {
    isPending = false;
    isWritten = false;
    if (raises) {
      raise();
    }
  }

  /** Invalidates the verdicts of all members. */
  void raise() {
    for (int i = 0; i < members.size(); i++) {
      generations.raise(members.getInt(i));
    }
  }

  @Override
  public boolean mayOvertake(MutableDirectBuffer before, MutableDirectBuffer after) {
    return after == null ? !codec.isDeny(before) : codec.isDeny(after);
  }

  @Override
  public void onWritten(
      MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {
    isWritten = true;
  }

  @Override
  public void onStepEnd() {
    if (isWritten && !isPending) {
      isWritten = false;
      raise();
    }
  }

  @Override
  public void onRepaired() {
    raise();
  }

  @Override
  public void degraded(String subject, String found) {
    faults.degraded(endpointId(), Part.POLICY, subject, found);
  }

  @Override
  public void failed(String subject, String found) {
    faults.failed(endpointId(), Part.POLICY, subject, found);
  }

  @Override
  public void clear(String subject) {
    faults.clear(subject);
  }
}
