package agent.datapath.manager.conductor;

import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.guard.Repairs.Kind;
import agent.datapath.manager.spec.EndpointFaults.Part;
import agent.datapath.manager.spec.EndpointSpec;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointFlag;
import agent.maps.layout.EndpointOption;
import java.util.HashSet;
import java.util.Set;
import org.agrona.collections.Int2ObjectHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Reads and writes entries of the map {@code endpoints}, and compares the map with what was
 * written: in each round all slots, 1024 in one step. The entries of a previous run count as
 * written until their endpoints are attached or detached. For the conductor's thread.
 */
public final class EndpointEntries implements Check {
  private static final Logger LOGGER = LogManager.getLogger(EndpointEntries.class);
  private static final int SLOTS_PER_STEP = 1024;

  /** A copy of an endpoint's entry. */
  record Entry(int ifindex, int identity, long mac, long hostMac, int flags) {
    static Entry of(EndpointEntryFlyweight found) {
      return new Entry(
          found.ifindex(), found.identity(), found.mac(), found.hostMac(), found.flags());
    }

    boolean equals(EndpointEntryFlyweight found) {
      return found.ifindex() == ifindex
          && found.identity() == identity
          && found.mac() == mac
          && found.hostMac() == hostMac
          && found.flags() == flags;
    }
  }

  private final EndpointMap map;
  private final VerdictGenerations generations;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final Int2ObjectHashMap<Entry> desired = new Int2ObjectHashMap<>();
  private final Int2ObjectHashMap<String> faulty = new Int2ObjectHashMap<>();
  private final MapCursor cursor = new MapCursor(SLOTS_PER_STEP);
  private final EndpointEntryFlyweight compared = new EndpointEntryFlyweight();
  private boolean isComparing;
  private int equal;

  /** Takes over the entries of the open map. */
  public EndpointEntries(
      BpfMap map, VerdictGenerations generations, KernelFaults faults, Repairs repairs) {
    this.map = new EndpointMap(map);
    this.generations = generations;
    this.faults = faults;
    this.repairs = repairs;
    final Set<Integer> ids = new HashSet<>();
    addIds(ids);
    ids.forEach(id -> desired.put((int) id, read(id)));
  }

  /** Reads an endpoint's entry; all fields are 0 where it has none. */
  Entry read(int id) {
    final int result = map.lookup(id);
    if (result < 0) {
      throw map.failure("lookup", result);
    }
    return Entry.of(map.found());
  }

  void write(EndpointSpec endpoint) {
    final boolean isAudit = (endpoint.options() & EndpointOption.POLICY_AUDIT_MODE.number()) != 0;
    final Entry entry =
        new Entry(
            endpoint.ifindex(),
            endpoint.identity(),
            endpoint.mac().bits(),
            endpoint.hostMac().bits(),
            isAudit ? EndpointFlag.POLICY_AUDIT.number() : 0);
    final int result = set(endpoint.id(), entry);
    if (result < 0) {
      throw map.failure("update", result);
    }
    desired.put(endpoint.id(), entry);
  }

  private int set(int id, Entry entry) {
    return map.set(
        id, entry.ifindex(), entry.identity(), entry.mac(), entry.hostMac(), entry.flags());
  }

  void clear(int id) {
    desired.remove(id);
    final int result = map.clear(id);
    if (result < 0) {
      throw map.failure("clear", result);
    }
  }

  /** Writes back an entry that {@link #read} returned; logs a failure instead of throwing it. */
  void restore(int id, Entry entry) {
    final int result;
    if (entry.ifindex() == 0) {
      desired.remove(id);
      result = map.clear(id);
    } else {
      desired.put(id, entry);
      result = set(id, entry);
    }
    if (result < 0) {
      LOGGER.error(map.failure("restore", result).getMessage());
    }
  }

  /** Adds the ids of all endpoints that have an entry to a set. */
  void addIds(Set<Integer> ids) {
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(map.map());
      if (opened < 0) {
        throw map.map().failure("walk", "all", opened);
      }
      while (cursor.next()) {
        ids.add(cursor.key().getInt(0));
      }
      if (cursor.error() < 0) {
        throw map.map().failure("walk", "all", cursor.error());
      }
    }
  }

  @Override
  public Progress step(long nowNs) {
    if (!isComparing) {
      begin();
    }
    if (!cursor.nextBatch()) {
      return end();
    }
    boolean isRepaired = false;
    while (cursor.nextOfBatch()) {
      final int id = cursor.key().getInt(0);
      final Entry entry = desired.get(id);
      if (entry != null && entry.equals(compared.wrap(cursor.value(), 0))) {
        equal++;
        right(id);
      } else {
        repair(id, entry, entry == null ? "belongs to no endpoint" : "has other values");
        isRepaired = true;
      }
    }
    return isRepaired ? Progress.REPAIRED : Progress.COMPARED;
  }

  private void begin() {
    final int opened = cursor.open(map.map());
    if (opened < 0) {
      throw map.map().failure("walk", "all", opened);
    }
    isComparing = true;
    equal = 0;
  }

  private Progress end() {
    isComparing = false;
    cursor.close();
    if (cursor.error() < 0) {
      throw map.map().failure("walk", "all", cursor.error());
    }
    if (equal < desired.size()) {
      desired.forEach(this::repairEmpty);
    }
    if (!faulty.isEmpty()) {
      Set.copyOf(faulty.keySet()).stream()
          .filter(id -> !desired.containsKey((int) id) && read(id).ifindex() == 0)
          .forEach(this::right);
    }
    return Progress.DONE;
  }

  /** Writes the entry of an endpoint whose slot is empty; the walk passes over empty slots. */
  private void repairEmpty(int id, Entry entry) {
    if (read(id).ifindex() == 0) {
      repair(id, entry, "is empty");
    }
  }

  private void repair(int id, Entry entryOrNull, String found) {
    final String subject = "endpoint " + id + " entry of endpoints";
    final int result = entryOrNull == null ? map.clear(id) : set(id, entryOrNull);
    faulty.put(id, subject);
    if (result < 0) {
      faults.failed(
          id, Part.PROGRAMS, subject, found + ": " + map.failure("repair", result).getMessage());
      return;
    }
    generations.raise(id);
    repairs.count(Kind.MAP_ENTRY, 1);
    faults.degraded(id, Part.PROGRAMS, subject, found);
    LOGGER.warn("{}: {}; repaired", subject, found);
  }

  private void right(int id) {
    if (!faulty.isEmpty()) {
      final String subject = faulty.remove(id);
      if (subject != null) {
        faults.clear(subject);
      }
    }
  }

  @Override
  public void close() {
    cursor.close();
  }

  @Override
  public String toString() {
    return "endpoints";
  }
}
