package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.load.NodeMapSet;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyMapProxy;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PolicyMapArray;
import agent.types.Refusal;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Writes the policy maps of endpoints and their slots in {@code policies} on the conductor's
 * thread.
 */
public final class PolicyMaps implements PolicyMapProxy, AutoCloseable {
  private static final String PREFIX = "policy_";

  private final DatapathConductor conductor;
  private final VerdictGenerations generations;
  private final NodeMapSet nodeMaps;
  private final PolicyMapArray slots;
  private final PolicyWriter writer = new PolicyWriter();
  private final PolicyGuard guard;
  private final Int2ObjectHashMap<PolicyMap> maps = new Int2ObjectHashMap<>();

  /**
   * Opens the pinned policy maps of a previous run.
   *
   * @param pinned ids of the endpoints that have a pinned policy map or link
   */
  public PolicyMaps(
      DatapathConductor conductor,
      VerdictGenerations generations,
      NodeMapSet nodeMaps,
      Collection<Integer> pinned,
      KernelFaults faults,
      Repairs repairs) {
    this.conductor = conductor;
    this.generations = generations;
    this.nodeMaps = nodeMaps;
    slots = new PolicyMapArray(nodeMaps.get(NodeMaps.POLICIES));
    guard = new PolicyGuard(generations, slots, faults, repairs);
    pinned.forEach(this::open);
  }

  /** Returns the comparison of the maps and their slots with the kernel. */
  public PolicyGuard guard() {
    return guard;
  }

  @Override
  public CompletableFuture<Void> apply(int endpointId, PolicyDelta delta) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.run(() -> onApply(id, delta));
  }

  private void onApply(int id, PolicyDelta delta) {
    final PolicyMap map = maps.get(id);
    if (map == null) {
      throw Refusal.notFound("id", "endpoint " + id + " has no policy map");
    }
    guard.change(id, delta);
    write(id, map, delta);
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, Collection<PolicyEntry> desired) {
    final int id = EndpointSpec.requireId(endpointId);
    final List<PolicyEntry> copy = List.copyOf(desired);
    return conductor.submit(() -> onSynchronize(id, copy));
  }

  private PolicyDelta onSynchronize(int id, List<PolicyEntry> desired) {
    final PolicyMap map = open(id);
    final PolicyDelta difference = writer.difference(map, desired);
    guard.replace(id, desired);
    if (!difference.isEmpty()) {
      write(id, map, difference);
    }
    return difference;
  }

  private void write(int id, PolicyMap map, PolicyDelta delta) {
    try {
      writer.apply(map, delta);
    } catch (RuntimeException failure) {
      guard.uncertain(id);
      throw failure;
    } finally {
      generations.raise(id);
    }
  }

  /**
   * Returns the endpoint's policy map after setting its slot. Creates the map where it is missing;
   * an empty policy map drops all packets.
   */
  PolicyMap open(int id) {
    PolicyMap map = maps.get(id);
    if (map == null) {
      map = new PolicyMap(nodeMaps.openPolicyMap(id));
      map.map().retriesRefused(true);
      maps.put(id, map);
      guard.add(id, map.map());
    }
    putIntoSlot(id, map.map());
    return map;
  }

  /**
   * Sets the slot of an endpoint unless it holds this map already, since setting a slot waits for
   * an RCU grace period.
   */
  private void putIntoSlot(int id, BpfMap map) {
    if (slots.mapId(id) != map.description().id()) {
      final int result = slots.set(id, map.fd());
      if (result < 0) {
        throw slots.failure("update", result);
      }
    }
  }

  /** Clears the endpoint's slot; the programs then drop its packets. */
  void clearSlot(int id) {
    guard.remove(id);
    final int result = slots.clear(id);
    if (result < 0 && result != -Errno.ENOENT) {
      throw slots.failure("delete", result);
    }
  }

  /** Unpins and closes the endpoint's policy map; it stays open where it cannot be unpinned. */
  void remove(int id) {
    final PolicyMap map = maps.get(id);
    if (map != null) {
      nodeMaps.removePolicyMap(map.map());
      guard.remove(id);
      maps.remove(id);
    }
  }

  /** Returns the ids of endpoints that have an open policy map. */
  Set<Integer> endpointIds() {
    return Set.copyOf(maps.keySet());
  }

  /**
   * Raises the generation of the endpoint after a failed write to its policy map was retried with
   * success.
   */
  public void onRealised(BpfMap map) {
    generations.raise(Integer.parseInt(map.name().substring(PREFIX.length())));
  }

  @Override
  public void close() {
    for (final PolicyMap map : maps.values()) {
      nodeMaps.releasePolicyMap(map.map());
    }
    maps.clear();
  }
}
