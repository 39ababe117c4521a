package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointSpec;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Realization;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Set;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.IntArrayList;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The desired entries of the map {@code endpoints}, by endpoint id, with the options of the
 * endpoints; the map has what {@link EntryOptions} makes of these. The entries of a previous run
 * are desired until their endpoints are attached or detached. For the conductor's thread.
 */
public final class EndpointEntries {
  private static final Logger LOGGER = LogManager.getLogger(EndpointEntries.class);

  /** Slots that a walk reads with one call, all of which may be compared in one step. */
  private static final int BATCH = 256;

  /** Receives an endpoint id and the number of its policy map. */
  interface PolicyConsumer {
    void accept(int id, int policyId);
  }

  private final ImmediateChanges changes;
  private final DesiredTable table;
  private final InterfaceCells cells;
  private final VerdictGenerations generations;
  private final EntryOptions options;
  private final Check guard;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[EndpointEntryFlyweight.LENGTH]);
  private final EndpointEntryFlyweight writer = new EndpointEntryFlyweight().wrap(value, 0);
  private final EndpointEntryFlyweight reader = new EndpointEntryFlyweight();
  private boolean isPutting;

  /** Adopts the entries of the open map, and the cells of their interfaces. */
  public EndpointEntries(
      ImmediateChanges changes,
      BpfMap map,
      InterfaceCells cells,
      VerdictGenerations generations,
      KernelFaults faults,
      Repairs repairs,
      EntryOptions options) {
    this.changes = changes;
    this.cells = cells;
    this.generations = generations;
    this.options = options;
    final EntryFaults entryFaults = new EntryFaults(map, faults);
    table = changes.add(new BpfTargetMap(map, BATCH), 0, new Written(entryFaults), entryFaults);
    guard = new ComparedTables(map.name(), List.of(table), repairs);
    changes.adopt(table);
    final IntArrayList ids = new IntArrayList();
    for (int row = 0; row < table.rows(); row++) {
      ids.addInt(table.key(row).getInt(0));
      options.keepServices(reader.wrap(table.held(row), 0).options());
    }
    for (int i = 0; i < ids.size(); i++) {
      takeOver(ids.getInt(i));
    }
    cells.closeOthers();
  }

  /** Adopts the entry of a previous run, which may have routed otherwise. */
  private void takeOver(int id) {
    final EndpointEntry entry = find(id);
    write(id, entry);
    cells.takeOver(entry.ifindex(), id);
  }

  /**
   * Changes the options, and invalidates the verdicts of flows that go another way by them; who
   * puts an entry does so once all is as the endpoint needs it.
   */
  private final class Written implements Realization {
    private final EntryFaults faults;
    private final EndpointEntryFlyweight refined = new EndpointEntryFlyweight();
    private final EndpointEntryFlyweight one = new EndpointEntryFlyweight();
    private final EndpointEntryFlyweight other = new EndpointEntryFlyweight();

    Written(EntryFaults faults) {
      this.faults = faults;
    }

    @Override
    public void refine(int source, MutableDirectBuffer id, MutableDirectBuffer entry) {
      refined.wrap(entry, 0).options(options.written(refined.options()));
    }

    @Override
    public void onWritten(
        MutableDirectBuffer id, MutableDirectBuffer before, MutableDirectBuffer after) {
      if (!isPutting
          && before != null
          && after != null
          && EntryOptions.isOtherWay(
              one.wrap(before, 0).options(), other.wrap(after, 0).options())) {
        generations.raise(id.getInt(0));
      }
    }

    @Override
    public void onEntryRepaired(MutableDirectBuffer repaired, DirectBuffer found, DirectBuffer to) {
      final int id = repaired.getInt(0);
      generations.raise(id);
      faults.repaired(
          id,
          "endpoint " + id + " entry of endpoints",
          found == null ? "is empty" : to == null ? "belongs to no endpoint" : "has other values");
    }
  }

  /** Returns the comparison of the map with the kernel. */
  public Check guard() {
    return guard;
  }

  /** Invalidates the verdicts of all flows with one of these addresses. */
  public void renewFlows(Set<IpAddress> addresses) {
    for (int row = 0; row < table.rows(); row++) {
      final EndpointEntry entry = entryIn(row);
      if (entry != null && entry.hasOneOf(addresses)) {
        generations.raise(table.key(row).getInt(0));
      }
    }
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
    review(options.bypassStack(bypassesStack));
  }

  /** Sets whether the node has services, which new flows are compared with. */
  public void serve(boolean hasServices) {
    review(options.serve(hasServices));
  }

  /**
   * Sets whether events have a subscriber. While they have none, the entries lack the options of
   * the other notifications; the flows of an endpoint whose entry changes are judged again, since
   * traced ones go another way.
   *
   * @param isCapturing whether a subscriber wants the first bytes of packets
   */
  public void listen(boolean isHeard, boolean isCapturing) {
    review(options.listen(isHeard, isCapturing));
  }

  private void review(boolean isChanged) {
    if (isChanged) {
      changes.review(table);
    }
  }

  /** Returns the desired entry of an endpoint; all fields are 0 where it has none. */
  EndpointEntry current(int id) {
    final EndpointEntry entry = find(id);
    return entry == null ? EndpointEntry.NONE : entry;
  }

  private EndpointEntry find(int id) {
    return wrap(id) ? EndpointEntry.of(reader) : null;
  }

  /** Wraps the desired entry of an endpoint; returns whether it has one. */
  private boolean wrap(int id) {
    key.putInt(0, id);
    final int row = table.find(key);
    return row >= 0 && wrapIn(row);
  }

  private boolean wrapIn(int row) {
    final MutableDirectBuffer entry = table.unrefined(row);
    if (entry != null) {
      reader.wrap(entry, 0);
    }
    return entry != null;
  }

  private EndpointEntry entryIn(int row) {
    return wrapIn(row) ? EndpointEntry.of(reader) : null;
  }

  /**
   * Writes the entry of an endpoint and opens its interface. An interface or address is changed
   * while the interface is closed, since a program may read an entry that is partly written.
   */
  void open(EndpointSpec endpoint, int policyId) {
    final int id = endpoint.id();
    final EndpointEntry entry = EndpointEntry.of(endpoint, policyId);
    final EndpointEntry before = find(id);
    if (before != null && !before.isAlike(entry)) {
      cells.close(before.ifindex(), id);
    }
    put(id, entry);
    cells.open(entry.ifindex(), id);
  }

  /** Writes the identity of an endpoint. */
  void identity(EndpointSpec endpoint) {
    put(endpoint.id(), EndpointEntry.of(endpoint, find(endpoint.id()).policyId()));
  }

  /** Returns whether an endpoint has an entry with another identity. */
  boolean hasOtherIdentity(int id, int identity) {
    return wrap(id) && reader.identity() != identity;
  }

  /** Writes the identity of an endpoint that has an entry. */
  void identity(int id, int identity) {
    final EndpointEntry entry = find(id);
    put(id, entry.with(identity, entry.policyId()));
  }

  /** Writes which policy map an endpoint with an entry uses. */
  void policy(int id, int policyId) {
    final EndpointEntry entry = find(id);
    if (entry != null && entry.policyId() != policyId) {
      put(id, entry.with(entry.identity(), policyId));
    }
  }

  /** Calls the consumer with the id of each endpoint that has a policy map, and its number. */
  void forEachPolicy(PolicyConsumer consumer) {
    for (int row = 0; row < table.rows(); row++) {
      if (wrapIn(row) && reader.policyId() != 0) {
        consumer.accept(table.key(row).getInt(0), reader.policyId());
      }
    }
  }

  /** Puts an entry; where the kernel refuses it, the one of before stays. */
  private void put(int id, EndpointEntry entry) {
    isPutting = true;
    try {
      write(id, entry);
    } finally {
      isPutting = false;
    }
  }

  private void write(int id, EndpointEntry entry) {
    key.putInt(0, id);
    entry.copyTo(writer.clear().endpointId(id));
    changes.tryPut(table, key, value);
  }

  /** Returns whether the programs process the packets of an endpoint's interface. */
  boolean isOpen(int id) {
    return wrap(id) && cells.isOpen(reader.ifindex(), id);
  }

  /** Closes the interface of an endpoint: the programs drop its packets; the entry stays. */
  void close(int id) {
    if (wrap(id)) {
      cells.close(reader.ifindex(), id);
    }
  }

  /** Closes an interface, whichever endpoint has it. */
  void closeInterface(int ifindex) {
    cells.close(ifindex);
  }

  /** Closes the interface of an endpoint and empties its entry. */
  void clear(int id) {
    close(id);
    key.putInt(0, id);
    changes.remove(table, key);
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
    for (int row = 0; row < table.rows(); row++) {
      if (wrapIn(row)) {
        ids.add(table.key(row).getInt(0));
      }
    }
  }
}
