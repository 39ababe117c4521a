package agent.datapath.manager.service;

import agent.bindings.Errno;
import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceEntries.Backend;
import agent.datapath.manager.spec.ServiceProxy.KeptFrontend;
import agent.maps.kernel.BpfMapException;
import agent.maps.layout.ServiceTableFlyweight;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The maps {@code services}, {@code service_slots}, {@code service_tables}, {@code service_cells},
 * {@code service_ends} and {@code service_backends}, and what they are to hold. Written in the
 * order in which the programs read, from the end: what an entry refers to is there before it, and
 * goes after it. For the conductor's thread.
 */
final class ServiceTables {
  private static final Logger LOGGER = LogManager.getLogger(ServiceTables.class);

  private final int mostCells;
  private final ServiceTable frontends;
  private final ServiceTable slots;
  private final ServiceTable headers;
  private final ServiceTable cells;
  private final ServiceTable ends;
  private final ServiceTable backends;
  private final List<ServiceTable> tables;
  private final Map<Integer, ServiceEntries> services = new TreeMap<>();
  private final Map<Integer, ServiceRows> kept = new TreeMap<>();
  private final Map<Integer, Integer> cellsOf = new TreeMap<>(); // 0: no table
  private boolean isKnown;

  /**
   * A service with its entries.
   *
   * @param cells the number of cells of its table; 0 for none
   */
  record Sized(ServiceEntries service, int cells, ServiceRows rows) {}

  /**
   * Creates the writer of maps whose content is not known.
   *
   * @param mostCells the largest number of cells of a service's table; 0 for no tables
   */
  ServiceTables(
      ServiceTable frontends,
      ServiceTable slots,
      ServiceTable headers,
      ServiceTable cells,
      ServiceTable ends,
      ServiceTable backends,
      int mostCells) {
    this.frontends = frontends;
    this.slots = slots;
    this.headers = headers;
    this.cells = cells;
    this.ends = ends;
    this.backends = backends;
    this.mostCells = mostCells;
    tables = List.of(frontends, headers, cells, ends, slots, backends);
  }

  /** Returns the numbers of the services that have a frontend in the maps. */
  Set<Integer> known() {
    final ServiceRows rows = new ServiceRows();
    frontends.read((key, value) -> true, rows.frontends());
    return rows.keptFrontends().stream().map(KeptFrontend::serviceId).collect(Collectors.toSet());
  }

  /** Begins to make the maps hold other services; what they hold of those that are kept stays. */
  void beginRestore(Set<Integer> keptIds) {
    isKnown = false;
    services.clear();
    kept.clear();
    tables.forEach(ServiceTable::clear);
    readSizes();
    for (final int id : keptIds) {
      final ServiceRows held = read(id);
      kept.put(id, held);
      write(held);
    }
  }

  /** Reads the sizes of the tables of the previous run, which do not shrink. */
  private void readSizes() {
    cellsOf.clear();
    final Map<ByteBuffer, byte[]> held = new LinkedHashMap<>();
    headers.read((key, value) -> true, held);
    final ServiceTableFlyweight table = new ServiceTableFlyweight();
    held.forEach(
        (key, value) ->
            cellsOf.put(
                new UnsafeBuffer(key.array()).getInt(0),
                table.wrap(new UnsafeBuffer(value), 0).cells()));
  }

  /** Adds services, a part of those that the maps are to hold. */
  void restore(Collection<ServiceEntries> part) {
    for (final ServiceEntries service : part) {
      services.put(service.id(), service);
      writeSized(sized(service, cellsOf.getOrDefault(service.id(), 0)));
    }
  }

  /**
   * Removes what the maps hold besides.
   *
   * @return whether they held or hold anything
   */
  boolean endRestore() {
    int others = 0;
    for (final ServiceTable table : tables) {
      others += table.removeOthers();
    }
    cellsOf.keySet().retainAll(services.keySet());
    isKnown = true;
    return others > 0 || !isEmpty();
  }

  /** Returns the frontends of services that are kept, without those that others have. */
  List<KeptFrontend> keptFrontends() {
    kept.values().forEach(this::leaveToOthers);
    return kept.values().stream().flatMap(rows -> rows.keptFrontends().stream()).toList();
  }

  /** An entry of a frontend belongs to the service that it names, which another one can replace. */
  private void leaveToOthers(ServiceRows rows) {
    rows.frontends().entrySet().removeIf(row -> !frontends.isDesired(row.getKey(), row.getValue()));
  }

  private ServiceRows read(int id) {
    final ServiceRows rows = new ServiceRows();
    frontends.read(ServiceRows.idOfFrontend(id), rows.frontends());
    slots.read(ServiceRows.idOfKey(id), rows.slots());
    headers.read(ServiceRows.idOfKey(id), rows.tables());
    cells.read(ServiceRows.idOfKey(id), rows.cells());
    ends.read(ServiceRows.idOfKey(id), rows.ends());
    backends.read(ServiceRows.idOfKey(id), rows.backends());
    return rows;
  }

  /** Returns a service with the entries that it has as a new one; any thread may compute them. */
  Sized sized(ServiceEntries service) {
    return sized(service, 0);
  }

  private Sized sized(ServiceEntries service, int formerCells) {
    final List<Backend> drawn = ServiceRows.drawn(service);
    final int cells = MaglevTable.cells(ServiceRows.weights(drawn), formerCells, mostCells);
    return new Sized(service, cells, ServiceRows.of(service, drawn, cells));
  }

  /**
   * Replaces a service; where the kernel refuses, the former one is put back.
   *
   * @return the former one, or null
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  ServiceEntries put(Sized asNew) {
    final ServiceEntries service = asNew.service();
    final ServiceEntries before = services.get(service.id());
    final int formerCells = cellsOf.getOrDefault(service.id(), 0);
    final ServiceRows former =
        before == null ? new ServiceRows() : ServiceRows.of(before, formerCells);
    final ServiceRows wanted;
    try {
      wanted = writeSized(formerCells <= asNew.cells() ? asNew : sized(service, formerCells));
    } catch (RuntimeException failure) {
      write(former);
      remove(ServiceRows.of(service, cellsOf.getOrDefault(service.id(), 0)), former);
      cellsOf.computeIfPresent(service.id(), (id, size) -> before == null ? null : formerCells);
      throw failure;
    }
    remove(former, wanted);
    return services.put(service.id(), service);
  }

  /** Writes a service with the table that it needs, or without one that the maps cannot hold. */
  private ServiceRows writeSized(Sized sized) {
    final int id = sized.service().id();
    final ServiceRows wanted = sized.rows();
    cellsOf.put(id, sized.cells());
    if (cells.hasRoomFor(wanted.cells()) && ends.hasRoomFor(wanted.ends())) {
      try {
        write(wanted);
        return wanted;
      } catch (BpfMapException failure) {
        if (failure.errno() != Errno.E2BIG && failure.errno() != Errno.ENOMEM) {
          throw failure;
        }
      }
    }
    final ServiceRows small = wanted.withoutTable();
    write(small);
    remove(wanted, small);
    cellsOf.put(id, 0);
    LOGGER.warn("service {}: no room for a Maglev table, backends are selected at random", id);
    return small;
  }

  /**
   * Removes a service, also one that is kept; does nothing where there is none.
   *
   * @return the service; null where there is none, or one that is kept
   */
  ServiceEntries remove(int id) {
    final ServiceEntries service = services.remove(id);
    final Integer size = cellsOf.remove(id);
    final ServiceRows rows = service == null ? kept.remove(id) : ServiceRows.of(service, size);
    if (rows != null) {
      leaveToOthers(rows);
      remove(rows, new ServiceRows());
    }
    return service;
  }

  /** Returns whether the maps hold what they are to hold, as far as the kernel took it. */
  boolean isKnown() {
    return isKnown;
  }

  boolean isEmpty() {
    return services.isEmpty() && kept.isEmpty();
  }

  private void write(ServiceRows rows) {
    backends.put(rows.backends());
    slots.put(rows.slots());
    ends.put(rows.ends());
    cells.put(rows.cells());
    headers.put(rows.tables());
    frontends.put(rows.frontends());
  }

  private void remove(ServiceRows rows, ServiceRows except) {
    frontends.remove(rows.frontends(), except.frontends());
    headers.remove(rows.tables(), except.tables());
    cells.remove(rows.cells(), except.cells());
    ends.remove(rows.ends(), except.ends());
    slots.remove(rows.slots(), except.slots());
    backends.remove(rows.backends(), except.backends());
  }
}
