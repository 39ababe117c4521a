package agent.datapath.manager.conductor;

import agent.bindings.BpfObject;
import agent.bindings.Errno;
import agent.datapath.manager.attach.Pins;
import agent.datapath.manager.load.NodeMapSet;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointFlag;
import agent.maps.layout.EndpointOption;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.agrona.collections.Int2ObjectHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The endpoints of this node as the kernel has them; but for the count, only the conductor's thread
 * calls it.
 */
public final class AttachedEndpoints implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(AttachedEndpoints.class);

  /** Index of the generation of everything that is not an endpoint of this node. */
  private static final int ELSEWHERE = 0;

  private static final String POLICY_PREFIX = "policy_";

  private final NodeMapSet maps;
  private final Pins pins;
  private final Preparations preparations;
  private final EndpointAttachments attachments;
  private final EndpointMap endpointMap;
  private final PolicyMapArray policies;
  private final GenerationArray generations;
  private final Ipcache ipcache;
  private final PolicyWriter policyWriter = new PolicyWriter();
  private final Int2ObjectHashMap<PolicyMap> policyMaps = new Int2ObjectHashMap<>();
  private final Int2ObjectHashMap<EndpointSpec> attached = new Int2ObjectHashMap<>();
  private volatile int attachedCount;

  /** Takes over what is pinned; nothing changes in the kernel. */
  public AttachedEndpoints(
      NodeMapSet maps, Pins pins, Preparations preparations, EndpointAttachments attachments) {
    this.maps = maps;
    this.pins = pins;
    this.preparations = preparations;
    this.attachments = attachments;
    endpointMap = new EndpointMap(maps.get(NodeMaps.ENDPOINTS));
    policies = new PolicyMapArray(maps.get(NodeMaps.POLICIES));
    generations = new GenerationArray(maps.get(NodeMaps.GENERATIONS));
    ipcache = new Ipcache(maps.get(NodeMaps.IPCACHE4), maps.get(NodeMaps.IPCACHE6));
    for (final int endpointId : pins.endpointIds()) {
      policyMap(endpointId);
    }
  }

  /** AttachedEndpoints whose programs this process has attached; for any thread. */
  public int attachedCount() {
    return attachedCount;
  }

  /** Begins what takes long in {@link #attach}, which is to follow with the same endpoint. */
  void prepare(EndpointSpec endpoint) {
    preparations.begin(endpoint, slot(endpoint.id()).ifindex() == 0);
  }

  void attach(EndpointSpec endpoint) {
    final int id = endpoint.id();
    final Preparations.Prepared prepared = preparations.take(endpoint);
    try (BpfObject object = prepared.programs()) {
      attach(endpoint, object);
    } catch (RuntimeException failure) {
      if (prepared.isShut()) {
        attachments.open(endpoint);
      }
      throw failure;
    }
    final EndpointSpec before = attached.put(id, endpoint);
    attachedCount = attached.size();
    boolean isNew = upsertAddress(endpoint, endpoint.ipv4());
    isNew |= upsertAddress(endpoint, endpoint.ipv6());
    boolean isElsewhere = false;
    if (before != null) {
      isElsewhere |= removeAddress(before.ipv4(), endpoint.ipv4());
      isElsewhere |= removeAddress(before.ipv6(), endpoint.ipv6());
    }
    if (isElsewhere) {
      generations.disown(id);
    } else {
      generations.bump(id);
    }
    if (isNew || isElsewhere) {
      generations.bump(ELSEWHERE);
    }
  }

  private void attach(EndpointSpec endpoint, BpfObject object) {
    final int id = endpoint.id();
    policyMap(id);
    final Slot slot = slot(id);
    setEntry(endpoint);
    try {
      attachments.attach(endpoint, object);
    } catch (RuntimeException failure) {
      restore(id, slot);
      generations.bump(id); // a flow may have been opened toward the new interface
      throw failure;
    }
  }

  /** Cuts the workload off first, then takes everything of it away; goes on where a part fails. */
  List<String> detach(int id) {
    final List<String> errors = new ArrayList<>();
    preparations.discard(id);
    final EndpointSpec spec = attached.remove(id);
    attachedCount = attached.size();
    final int entryIfindex = interfaceOf(id);
    final int ifindex = spec == null ? entryIfindex : spec.ifindex();
    final String interfaceName = spec == null ? "endpoint " + id : spec.interfaceName();
    final int cleared = policies.clear(id);
    if (cleared < 0 && cleared != -Errno.ENOENT) {
      errors.add(policies.failure("delete", cleared).getMessage());
    }
    generations.bump(id);
    for (final Prefix prefix : ipcache.prefixesOf(id)) {
      attempt(errors, () -> ipcache.remove(prefix));
    }
    attachments.detach(id, ifindex, interfaceName, errors);
    if (entryIfindex != 0) {
      final int result = endpointMap.clear(id);
      if (result < 0) {
        errors.add(endpointMap.failure("clear", result).getMessage());
      }
    }
    final PolicyMap policyMap = policyMaps.remove(id);
    if (policyMap != null) {
      attempt(errors, () -> maps.removePolicyMap(policyMap.map()));
    }
    generations.disown(id);
    generations.bump(ELSEWHERE);
    return errors;
  }

  void applyPolicy(int id, PolicyMapDelta delta) {
    final PolicyMap map = policyMaps.get(id);
    if (map == null) {
      throw Refusal.notFound("id", "endpoint " + id + " has no policy map");
    }
    write(id, map, delta);
  }

  PolicyMapDelta synchronizePolicy(int id, Collection<PolicyMapEntry> desired) {
    final PolicyMap map = policyMap(EndpointSpec.requireId(id));
    final PolicyMapDelta difference = policyWriter.difference(map, desired);
    if (!difference.isEmpty()) {
      write(id, map, difference);
    }
    return difference;
  }

  void setIdentity(int id, int identity) {
    final EndpointSpec before = attached.get(id);
    if (before == null) {
      throw Refusal.notFound("id", "endpoint " + id + " is not attached");
    }
    final EndpointSpec after = before.withIdentity(identity);
    setEntry(after);
    attached.put(id, after);
    upsertAddress(after, after.ipv4());
    upsertAddress(after, after.ipv6());
    generations.bump(id);
    generations.bump(ELSEWHERE);
  }

  void upsertIpcache(Collection<IpcacheEntry> entries) {
    try {
      for (final IpcacheEntry entry : entries) {
        upsert(entry);
      }
    } finally {
      generations.bump(ELSEWHERE);
    }
  }

  void removeIpcache(Collection<Prefix> prefixes) {
    try {
      for (final Prefix prefix : prefixes) {
        removeFromIpcache(prefix);
      }
    } finally {
      generations.bump(ELSEWHERE);
    }
  }

  /** Addresses of attached endpoints stay: they came with the attachment. */
  void synchronizeIpcache(Collection<IpcacheEntry> desired) {
    final Set<Prefix> kept = new HashSet<>();
    for (final IpcacheEntry entry : desired) {
      kept.add(entry.prefix());
    }
    for (final EndpointSpec endpoint : attached.values()) {
      keep(kept, endpoint.ipv4());
      keep(kept, endpoint.ipv6());
    }
    boolean isChanged = false;
    for (final IpcacheEntry entry : desired) {
      isChanged |= upsert(entry);
    }
    for (final IpcacheEntry entry : ipcache.snapshot()) {
      if (!kept.contains(entry.prefix())) {
        isChanged |= removeFromIpcache(entry.prefix());
      }
    }
    if (isChanged) {
      generations.bump(ELSEWHERE);
      attached.keySet().forEach(generations::bump);
    }
  }

  Set<Integer> known() {
    final Set<Integer> known = new TreeSet<>(pins.endpointIds());
    known.addAll(attached.keySet());
    known.addAll(policyMaps.keySet());
    try (MapCursor cursor = new MapCursor()) {
      if (cursor.open(endpointMap.map()) == 0) {
        while (cursor.next()) {
          known.add(cursor.key().getInt(0));
        }
      }
    }
    return known;
  }

  int interfaceOf(int id) {
    return endpointMap.lookup(id) == 0 ? endpointMap.found().ifindex() : 0;
  }

  List<String> forgetExcept(Set<Integer> wanted) {
    final List<String> errors = new ArrayList<>();
    for (final int id : known()) {
      if (!wanted.contains(id)) {
        errors.addAll(detach(id));
      }
    }
    return errors;
  }

  /** A write that had failed went through: flows that it may touch are judged anew. */
  public void onRealised(BpfMap map) {
    final String name = map.name();
    if (name.startsWith(POLICY_PREFIX)) {
      generations.bump(Integer.parseInt(name.substring(POLICY_PREFIX.length())));
    } else {
      generations.bump(ELSEWHERE);
      attached.keySet().forEach(generations::bump);
    }
  }

  @Override
  public void close() {
    for (final PolicyMap map : policyMaps.values()) {
      maps.releasePolicyMap(map.map());
    }
    policyMaps.clear();
    generations.close();
  }

  private void write(int id, PolicyMap map, PolicyMapDelta delta) {
    try {
      policyWriter.apply(map, delta);
    } finally {
      generations.bump(id);
    }
  }

  /** The endpoint's policy map, in its slot; a new one is empty and lets nothing through. */
  private PolicyMap policyMap(int id) {
    PolicyMap map = policyMaps.get(id);
    if (map == null) {
      map = new PolicyMap(maps.openPolicyMap(id));
      map.map().retriesRefused(true);
      policyMaps.put(id, map);
      putIntoSlot(id, map.map());
    }
    return map;
  }

  /** Writing the slot waits for running programs: one that holds this map already is left alone. */
  private void putIntoSlot(int id, BpfMap map) {
    if (policies.mapId(id) != map.description().id()) {
      final int result = policies.set(id, map.fd());
      if (result < 0) {
        throw policies.failure("update", result);
      }
    }
  }

  private void setEntry(EndpointSpec endpoint) {
    final boolean isAudit = (endpoint.options() & EndpointOption.POLICY_AUDIT_MODE.number()) != 0;
    final int result =
        endpointMap.set(
            endpoint.id(),
            endpoint.ifindex(),
            endpoint.identity(),
            endpoint.mac().bits(),
            endpoint.hostMac().bits(),
            isAudit ? EndpointFlag.POLICY_AUDIT.number() : 0);
    if (result < 0) {
      throw endpointMap.failure("update", result);
    }
  }

  private Slot slot(int id) {
    final int result = endpointMap.lookup(id);
    if (result < 0) {
      throw endpointMap.failure("lookup", result);
    }
    final EndpointEntryFlyweight found = endpointMap.found();
    return new Slot(found.ifindex(), found.identity(), found.mac(), found.hostMac(), found.flags());
  }

  private void restore(int id, Slot slot) {
    final int result =
        slot.ifindex() == 0
            ? endpointMap.clear(id)
            : endpointMap.set(
                id, slot.ifindex(), slot.identity(), slot.mac(), slot.hostMac(), slot.flags());
    if (result < 0) {
      LOGGER.error(endpointMap.failure("restore", result).getMessage());
    }
  }

  private boolean upsertAddress(EndpointSpec endpoint, IpAddress address) {
    return address != null
        && upsert(new IpcacheEntry(Prefix.of(address), endpoint.identity(), endpoint.id(), false));
  }

  /** Flows with the endpoint that the prefix leads to now, and with the one before, are stale. */
  private boolean upsert(IpcacheEntry entry) {
    final IpcacheEntry before = ipcache.get(entry.prefix());
    if (!ipcache.upsert(entry)) {
      return false;
    }
    if (before != null && before.endpointId() != 0 && before.endpointId() != entry.endpointId()) {
      generations.bump(before.endpointId());
    }
    if (entry.endpointId() != 0) {
      generations.bump(entry.endpointId());
    }
    return true;
  }

  private boolean removeAddress(IpAddress before, IpAddress now) {
    return before != null && !Objects.equals(before, now) && ipcache.remove(Prefix.of(before));
  }

  private boolean removeFromIpcache(Prefix prefix) {
    final IpcacheEntry before = ipcache.get(prefix);
    final boolean isRemoved = ipcache.remove(prefix);
    if (isRemoved && before.endpointId() != 0) {
      generations.bump(before.endpointId());
    }
    return isRemoved;
  }

  private static void keep(Set<Prefix> kept, IpAddress address) {
    if (address != null) {
      kept.add(Prefix.of(address));
    }
  }

  private static void attempt(List<String> errors, Runnable part) {
    try {
      part.run();
    } catch (RuntimeException failure) {
      errors.add(failure.getMessage());
    }
  }

  /** An endpoint's entry before a change. */
  private record Slot(int ifindex, int identity, long mac, long hostMac, int flags) {}
}
