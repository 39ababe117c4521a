package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.spec.EndpointFaults.Part;
import agent.datapath.manager.spec.EndpointSpec;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.types.IpAddress;
import agent.types.Prefix;
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

  /** Receives an endpoint id and the number of its policy map. */
  interface PolicyConsumer {
    void accept(int id, int policyId);
  }

  /** The options that the node has and not the endpoint: {@link #bypassStack}, {@link #serve}. */
  private static final int HOST_ROUTING = EndpointOption.HOST_ROUTING.number();

  private static final int SERVICES = EndpointOption.SERVICES.number();

  private static final int CAPTURE = EndpointOption.CAPTURE.number();

  /** What programs emit only while there is a subscriber. */
  private static final int NOTIFICATIONS =
      EndpointOption.DROP_NOTIFICATION.number()
          | EndpointOption.TRACE_NOTIFICATION.number()
          | EndpointOption.POLICY_VERDICT_NOTIFICATION.number();

  private final EndpointMap map;
  private final InterfaceCells cells;
  private final VerdictGenerations generations;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final Int2ObjectHashMap<EndpointEntry> desired = new Int2ObjectHashMap<>();
  private final Int2ObjectHashMap<String> faulty = new Int2ObjectHashMap<>();
  private final MapCursor cursor = new MapCursor(SLOTS_PER_STEP);
  private final EndpointEntryFlyweight compared = new EndpointEntryFlyweight();
  private final int unheardMask;
  private int optionMask;
  private int nodeOptions;
  private boolean isComparing;
  private int equal;

  /**
   * Adopts the entries of the open map, and the cells of their interfaces.
   *
   * @param always events that are emitted while they have no subscriber
   * @param bypassesStack whether flows bypass the stack, until {@link #bypassStack} is called
   */
  public EndpointEntries(
      BpfMap map,
      InterfaceCells cells,
      VerdictGenerations generations,
      KernelFaults faults,
      Repairs repairs,
      Set<EventType> always,
      boolean bypassesStack) {
    this.map = new EndpointMap(map);
    this.cells = cells;
    this.generations = generations;
    this.faults = faults;
    this.repairs = repairs;
    unheardMask = ~NOTIFICATIONS | notifications(always);
    optionMask = unheardMask;
    nodeOptions = bypassesStack ? HOST_ROUTING : 0;
    final Set<Integer> ids = new HashSet<>();
    addIds(ids);
    for (final int id : ids) {
      read(id);
      nodeOptions |= this.map.found().options() & SERVICES; // until they are restored
    }
    ids.forEach(this::takeOver);
    desired.forEach((id, entry) -> cells.takeOver(entry.ifindex(), id));
    cells.closeOthers();
  }

  private static int notifications(Set<EventType> types) {
    int options = 0;
    for (final EventType type : types) {
      options |=
          switch (type) {
            case DROP -> EndpointOption.DROP_NOTIFICATION.number();
            case VERDICT -> EndpointOption.POLICY_VERDICT_NOTIFICATION.number();
            case TRACE -> EndpointOption.TRACE_NOTIFICATION.number();
            case TRANSLATION -> 0; // no option of endpoints
          };
    }
    return options;
  }

  /** Adopts the entry of a previous run, which may have routed otherwise. */
  private void takeOver(int id) {
    final EndpointEntry entry = read(id);
    desired.put(id, entry);
    if ((map.found().options() & EndpointEntry.NODE_OPTIONS) != nodeOptions) {
      put(id, entry);
      generations.raise(id);
    }
  }

  /** Invalidates the verdicts of all flows with one of these addresses. */
  public void renewFlows(Set<IpAddress> addresses) {
    desired.forEach(
        (id, entry) -> {
          if (entry.hasOneOf(addresses)) {
            generations.raise(id);
          }
        });
    generations.raiseOutside(addresses.stream().map(Prefix::of).toList());
  }

  /** Invalidates the verdicts of all flows. */
  public void renewFlows() {
    generations.raiseAll();
  }

  /**
   * Sets whether flows bypass the stack. Where that changes, all flows are judged again, and go the
   * other way in both directions from the next packet of either.
   */
  public void bypassStack(boolean bypassesStack) {
    if (setNodeOption(HOST_ROUTING, bypassesStack)) {
      desired.keySet().forEach(generations::raise);
    }
  }

  /** Sets whether the node has services, which new flows are compared with. */
  public void serve(boolean hasServices) {
    setNodeOption(SERVICES, hasServices);
  }

  /** Returns whether that changed the entries. */
  private boolean setNodeOption(int option, boolean isSet) {
    final int before = nodeOptions;
    nodeOptions = isSet ? before | option : before & ~option;
    if (nodeOptions != before) {
      desired.forEach(this::put);
    }
    return nodeOptions != before;
  }

  /**
   * Sets whether events have a subscriber. While they have none, the entries lack the options of
   * the other notifications, so that these cost the programs nothing; the flows of an endpoint
   * whose entry changes are judged again, since traced ones go another way.
   *
   * @param isCapturing whether a subscriber wants the first bytes of packets
   */
  public void listen(boolean isHeard, boolean isCapturing) {
    final int maskBefore = optionMask;
    final int nodeBefore = nodeOptions;
    optionMask = isHeard ? -1 : unheardMask;
    nodeOptions = nodeOptions & ~CAPTURE | (isCapturing ? CAPTURE : 0);
    final int changed = optionMask ^ maskBefore;
    if (changed == 0 && nodeOptions == nodeBefore) {
      return; // a further subscriber
    }
    desired.forEach(
        (id, entry) -> {
          put(id, entry);
          if ((entry.options() & changed) != 0) {
            generations.raise(id);
          }
        });
  }

  /** Returns the desired entry of an endpoint, or what the map has. */
  EndpointEntry current(int id) {
    final EndpointEntry entry = desired.get(id);
    return entry == null ? read(id) : entry;
  }

  /** Reads an endpoint's entry; all fields are 0 where it has none. */
  private EndpointEntry read(int id) {
    final int result = map.lookup(id);
    if (result < 0) {
      throw map.failure("lookup", result);
    }
    return EndpointEntry.of(map.found());
  }

  /**
   * Writes the entry of an endpoint and opens its interface. An interface or address is changed
   * while the interface is closed, since a program may read an entry that is partly written.
   */
  void open(EndpointSpec endpoint, int policyId) {
    final int id = endpoint.id();
    final EndpointEntry entry = EndpointEntry.of(endpoint, policyId);
    final EndpointEntry before = desired.get(id);
    if (before != null && !before.isAlike(entry)) {
      cells.close(before.ifindex(), id);
    }
    put(id, entry);
    cells.open(entry.ifindex(), id);
  }

  /** Writes the identity of an endpoint. */
  void identity(EndpointSpec endpoint) {
    final EndpointEntry before = desired.get(endpoint.id());
    put(endpoint.id(), EndpointEntry.of(endpoint, before.policyId()));
  }

  /** Returns whether an endpoint has an entry with another identity. */
  boolean hasOtherIdentity(int id, int identity) {
    final EndpointEntry entry = desired.get(id);
    return entry != null && entry.identity() != identity;
  }

  /** Writes the identity of an endpoint that has an entry. */
  void identity(int id, int identity) {
    final EndpointEntry entry = desired.get(id);
    put(id, entry.with(identity, entry.policyId()));
  }

  /** Writes which policy map an endpoint with an entry uses. */
  void policy(int id, int policyId) {
    final EndpointEntry entry = desired.get(id);
    if (entry != null && entry.policyId() != policyId) {
      put(id, entry.with(entry.identity(), policyId));
    }
  }

  /** Calls the consumer with the id of each endpoint that has a policy map, and its number. */
  void forEachPolicy(PolicyConsumer consumer) {
    desired.forEach(
        (id, entry) -> {
          if (entry.policyId() != 0) {
            consumer.accept(id, entry.policyId());
          }
        });
  }

  private void put(int id, EndpointEntry entry) {
    final int result = set(id, entry);
    if (result < 0) {
      throw map.failure("update", result);
    }
    desired.put(id, entry);
  }

  private int set(int id, EndpointEntry entry) {
    entry.copyTo(map.edit(id), written(entry));
    return map.put();
  }

  /** Returns the options that the entry has in the kernel. */
  private int written(EndpointEntry entry) {
    return entry.options() & optionMask | nodeOptions;
  }

  /** Returns whether the programs process the packets of an endpoint's interface. */
  boolean isOpen(int id) {
    final EndpointEntry entry = desired.get(id);
    return entry != null && cells.isOpen(entry.ifindex(), id);
  }

  /** Closes the interface of an endpoint: the programs drop its packets; the entry stays. */
  void close(int id) {
    final EndpointEntry entry = desired.get(id);
    if (entry != null) {
      cells.close(entry.ifindex(), id);
    }
  }

  /** Closes an interface, whichever endpoint has it. */
  void closeInterface(int ifindex) {
    cells.close(ifindex);
  }

  /** Closes the interface of an endpoint and empties its entry. */
  void clear(int id) {
    close(id);
    desired.remove(id);
    final int result = map.clear(id);
    if (result < 0) {
      throw map.failure("clear", result);
    }
  }

  /**
   * Writes back an entry that {@link #current} returned, and opens its interface where it was open;
   * logs a failure instead of throwing it.
   */
  void restore(int id, EndpointEntry entry, boolean wasOpen) {
    try {
      close(id);
      if (entry.ifindex() == 0) {
        clear(id);
      } else {
        put(id, entry);
        if (wasOpen) {
          cells.open(entry.ifindex(), id);
        }
      }
    } catch (BpfMapException failure) {
      LOGGER.error("endpoint {}: its entry is not restored: {}", id, failure.getMessage());
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
      final EndpointEntry entry = desired.get(id);
      if (entry != null && entry.equals(id, compared.wrap(cursor.value(), 0), written(entry))) {
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
  private void repairEmpty(int id, EndpointEntry entry) {
    if (read(id).ifindex() == 0) {
      repair(id, entry, "is empty");
    }
  }

  private void repair(int id, EndpointEntry entryOrNull, String found) {
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
