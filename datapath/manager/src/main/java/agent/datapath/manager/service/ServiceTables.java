package agent.datapath.manager.service;

import agent.bindings.Errno;
import agent.datapath.manager.service.ServiceRows.Part;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy.KeptFrontend;
import agent.maps.kernel.BpfMapException;
import agent.maps.layout.ServiceGate;
import agent.maps.layout.ServiceScope;
import agent.reconcile.Batch;
import agent.reconcile.DesiredTable;
import agent.reconcile.MapFaults;
import agent.reconcile.Realization;
import agent.reconcile.Reconciler;
import agent.reconcile.TableChanges;
import agent.reconcile.TargetMap;
import agent.reconcile.Waiter;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.IntHashSet;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The desired entries of services in the maps {@code services}, {@code service_slots}, {@code
 * service_tables}, {@code service_cells}, {@code service_ends} and {@code service_backends}, and
 * that of {@code service_gate}, which tells the programs of devices whether a service takes packets
 * from outside. A service is one change of the reconciler: what an entry refers to is there before
 * it, and goes after it; where the kernel refuses an entry, the former service is put back. Each
 * entry is owned by its service. For the conductor's thread.
 */
final class ServiceTables {
  private static final Logger LOGGER = LogManager.getLogger(ServiceTables.class);
  private static final int SOURCE = 0;
  private static final int GATE_RANK = Part.ALL.length;

  /** Rows that are looked at in the time of one change. */
  private static final int ROWS_A_CHANGE = 16;

  private final Reconciler reconciler;
  private final int mostCells;
  private final DesiredTable[] tables = new DesiredTable[Part.ALL.length];
  private final DesiredTable gate;
  private final ServiceRows rows = new ServiceRows();
  private final UnsafeBuffer gateKey = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer gateValue = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final Int2ObjectHashMap<PlacedService> services = new Int2ObjectHashMap<>();
  private final IntHashSet kept = new IntHashSet();
  private final IntHashSet keptForOutside = new IntHashSet();
  private int forOutside;
  private boolean isRestored;

  /**
   * What a restore has found.
   *
   * @param isChanged whether the maps held or hold anything
   * @param frontends the frontends of services that are kept, without those that others have
   */
  record Restored(boolean isChanged, List<KeptFrontend> frontends) {}

  /**
   * Creates the tables of maps whose content is not known.
   *
   * @param maps returns each map
   * @param gateMap {@code service_gate}
   * @param mostCells the largest number of cells of a service's table; 0 for no tables
   */
  ServiceTables(
      Reconciler reconciler,
      MapFaults faults,
      Function<Part, TargetMap> maps,
      TargetMap gateMap,
      int mostCells) {
    this.reconciler = reconciler;
    this.mostCells = mostCells;
    for (final Part part : Part.ALL) {
      tables[part.ordinal()] = table(maps.apply(part), part.ordinal(), faults);
    }
    gate = table(gateMap, GATE_RANK, faults);
  }

  private DesiredTable table(TargetMap map, int rank, MapFaults faults) {
    return reconciler.add(new DesiredTable(map, 1, rank, Realization.PLAIN, faults));
  }

  /** Returns the tables, in the order in which programs read the maps. */
  List<DesiredTable> all() {
    final List<DesiredTable> all = new ArrayList<>();
    all.add(gate);
    all.addAll(List.of(tables).reversed());
    return all;
  }

  private DesiredTable table(Part part) {
    return tables[part.ordinal()];
  }

  /** Returns whether there is no service, as far as changes are in force. */
  boolean isEmpty() {
    return services.isEmpty() && kept.isEmpty();
  }

  /** Returns a service with the entries that it has as a new one; any thread may compute them. */
  PlacedService placed(ServiceEntries service) {
    return PlacedService.of(service, 0, mostCells);
  }

  /** Completes with the ids of the services that have a frontend in the maps. */
  CompletableFuture<Set<Integer>> known() {
    final CompletableFuture<Set<Integer>> known = new CompletableFuture<>();
    final Set<Integer> ids = new HashSet<>();
    final RowWalk walk = new RowWalk(List.of(Part.FRONTENDS));
    reconciler.submit(
        (batch, limit) ->
            walk.next(
                limit,
                (part, row) -> {
                  final MutableDirectBuffer held = table(part).held(row);
                  if (held != null) {
                    ids.add(ServiceRows.serviceId(part, held, held));
                  }
                }),
        failure -> {
          if (failure == null) {
            known.complete(ids);
          } else {
            known.completeExceptionally(failure);
          }
        });
    return known;
  }

  /**
   * Makes the services those given, one change each; then removes all others that the maps hold.
   *
   * @param keptIds ids of services whose entries stay as the maps hold them; a frontend that one of
   *     the given services has becomes that one's
   * @return fails with the first write that the kernel refuses, which is retried
   */
  CompletableFuture<Restored> restore(List<ServiceEntries> wanted, Set<Integer> keptIds) {
    final Restoration restoration = new Restoration(wanted, keptIds);
    reconciler.submit(restoration, restoration);
    return restoration.restored;
  }

  /**
   * Replaces a service, or creates it.
   *
   * @return completes with the former one, or null; where the kernel refuses, it fails, and all is
   *     as it was
   */
  CompletableFuture<ServiceEntries> put(PlacedService asNew) {
    final Change change = new Change(asNew.id(), asNew);
    reconciler.submit(change, change);
    return change.answer;
  }

  /**
   * Removes a service, also one that is kept; does nothing where there is none.
   *
   * @return completes with the service; null where there is none, or one that is kept
   */
  CompletableFuture<ServiceEntries> remove(int id) {
    final Change change = new Change(id, null);
    reconciler.submit(change, change);
    return change.answer;
  }

  private void put(Batch batch, PlacedService of, int index) {
    final Part part = rows.encode(of, index, true);
    batch.put(table(part), SOURCE, of.id(), rows.key(), rows.value());
  }

  private void remove(Batch batch, PlacedService of, int index) {
    final Part part = rows.encode(of, index, false);
    batch.remove(table(part), SOURCE, of.id(), rows.key());
  }

  private void setGate(Batch batch, int servicesForOutside) {
    final boolean isOpen = servicesForOutside > 0 || !keptForOutside.isEmpty();
    if (isOpen || isRestored) { // before, the previous run's entries are in force
      gateValue.putInt(0, (isOpen ? ServiceGate.OPEN : ServiceGate.CLOSED).number());
      batch.put(gate, SOURCE, 0, gateKey, gateValue);
    }
  }

  /** Returns the size of the table that the maps hold of a service. */
  private int heldCells(int id) {
    gateKey.putInt(0, id);
    final int row = table(Part.HEADERS).find(gateKey);
    gateKey.putInt(0, 0);
    final MutableDirectBuffer header = row < 0 ? null : table(Part.HEADERS).wanted(row);
    return header == null ? 0 : rows.cells(header);
  }

  /** Without an attempt: the failure of a full map counts its entries. */
  private boolean hasRoomForTable(PlacedService of) {
    return hasRoom(of, Part.CELLS) && hasRoom(of, Part.ENDS);
  }

  private boolean hasRoom(PlacedService of, Part part) {
    final int count = part.count(of);
    if (table(part).hasRoomFor(count)) {
      return true;
    }
    int added = 0;
    for (int index = part.first(of); index < part.first(of) + count; index++) {
      rows.encode(of, index, false);
      added += table(part).find(rows.key()) < 0 ? 1 : 0;
    }
    return table(part).hasRoomFor(added);
  }

  /** A walk through the rows of some tables, a bounded number at a time. */
  private final class RowWalk {
    private final List<Part> parts;
    private int part;
    private int row;

    interface Visitor {
      void onRow(Part part, int row);
    }

    RowWalk(List<Part> parts) {
      this.parts = parts;
    }

    /** Visits further rows, as many as are looked at in the time of so many changes. */
    boolean next(int limit, Visitor visitor) {
      int left = limit * ROWS_A_CHANGE;
      for (; part < parts.size(); part++) {
        final int rowCount = table(parts.get(part)).rows();
        for (; row < rowCount && left > 0; row++) {
          visitor.onRow(parts.get(part), row);
          left--;
        }
        if (row < rowCount) {
          return true;
        }
        row = 0;
      }
      return false;
    }
  }

  /** One service in the place of its former self, or none in its place. */
  private final class Change implements TableChanges, Waiter {
    final CompletableFuture<ServiceEntries> answer = new CompletableFuture<>();
    private final int id;
    private final PlacedService asNew;
    private PlacedService former;
    private PlacedService removed;
    private PlacedService wanted;
    private RowWalk keptRows;
    private boolean isBegun;
    private boolean isApplied;
    private int next;
    private RuntimeException refusal;

    /** Creates the change; a null service is to be removed. */
    Change(int id, PlacedService asNew) {
      this.id = id;
      this.asNew = asNew;
    }

    private void begin() {
      isBegun = true;
      former = services.get(id);
      removed = former;
      if (kept.remove(id)) {
        keptForOutside.remove(id);
        keptRows = new RowWalk(List.of(Part.ALL));
      }
      if (asNew == null) {
        return;
      }
      final int formerCells = former == null ? heldCells(id) : former.cells();
      wanted =
          formerCells <= asNew.cells()
              ? asNew
              : PlacedService.of(asNew.service(), formerCells, mostCells);
      if (!hasRoomForTable(wanted)) {
        warnOfNoTable();
        wanted = wanted.withoutTable();
      }
    }

    private void warnOfNoTable() {
      LOGGER.warn("service {}: no room for a Maglev table, backends are selected at random", id);
    }

    /** What is removed and put again is not written. */
    @Override
    public boolean apply(Batch batch, int limit) {
      if (!isBegun) {
        begin();
      }
      if (keptRows != null
          && keptRows.next(limit, (part, row) -> removeKept(batch, table(part), row))) {
        return true;
      }
      final int first = removed == null ? 0 : ServiceRows.count(removed);
      final int end = first + (wanted == null ? 0 : ServiceRows.count(wanted));
      final int stop = Math.min(end, next + limit);
      for (; next < stop; next++) {
        if (next < first) {
          ServiceTables.this.remove(batch, removed, next);
        } else {
          ServiceTables.this.put(batch, wanted, next - first);
        }
      }
      if (next < end) {
        return true;
      }
      setGate(batch, forOutside - countOutside(former) + countOutside(wanted));
      isApplied = true;
      return false;
    }

    private void removeKept(Batch batch, DesiredTable table, int row) {
      if (table.isOf(row, SOURCE, id)) {
        batch.remove(table, SOURCE, id, table.key(row));
      }
    }

    /** Without a table where the maps have no room for it, else as the service was before. */
    @Override
    public boolean replaces(RuntimeException cause) {
      if (refusal != null || wanted == null) {
        return false;
      }
      final boolean isForTable = wanted.usesTable() && isFull(cause);
      if (!isForTable && !isRestored) { // what the previous run had is not known
        return false;
      }
      next = 0;
      removed = wanted;
      if (isForTable) {
        warnOfNoTable();
        wanted = wanted.withoutTable();
      } else {
        refusal = cause;
        wanted = former == null ? null : PlacedService.withCells(former.service(), former.cells());
      }
      return true;
    }

    @Override
    public void done(RuntimeException failure) {
      if (refusal == null && isApplied) {
        place(id, wanted);
      }
      final RuntimeException cause = refusal == null ? failure : refusal;
      if (cause == null) {
        answer.complete(former == null ? null : former.service());
      } else {
        answer.completeExceptionally(cause);
      }
    }
  }

  private static boolean isFull(RuntimeException cause) {
    return cause instanceof final BpfMapException map
        && (map.errno() == Errno.E2BIG || map.errno() == Errno.ENOMEM);
  }

  private static int countOutside(PlacedService of) {
    return of != null && of.isForOutside() ? 1 : 0;
  }

  private void place(int id, PlacedService placed) {
    final PlacedService former =
        placed == null ? services.remove(id) : services.put(id, placed.withoutValues());
    forOutside += countOutside(placed) - countOutside(former);
  }

  /**
   * A change for what is kept, one for each service, and one for what is not known to be wanted.
   */
  private final class Restoration implements TableChanges, Waiter {
    final CompletableFuture<Restored> restored = new CompletableFuture<>();
    private final List<ServiceEntries> wanted;
    private final Set<Integer> keptIds;
    private final LinkedHashSet<Integer> others = new LinkedHashSet<>();
    private final List<KeptFrontend> frontends = new ArrayList<>();
    private final RowWalk walk = new RowWalk(List.of(Part.ALL));
    private Iterator<ServiceEntries> rest;
    private boolean isChanged;

    Restoration(List<ServiceEntries> wanted, Set<Integer> keptIds) {
      this.wanted = wanted;
      this.keptIds = keptIds;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      if (rest != null) {
        end(batch);
        return false;
      }
      return !keptIds.isEmpty() && walk.next(limit, (part, row) -> keep(batch, part, row));
    }

    private void keep(Batch batch, Part part, int row) {
      final DesiredTable table = table(part);
      final MutableDirectBuffer held = table.held(row);
      if (held == null) {
        return;
      }
      final int id = ServiceRows.serviceId(part, table.key(row), held);
      if (!keptIds.contains(id)) {
        return;
      }
      if (part == Part.FRONTENDS) {
        frontends.add(rows.keptFrontend(table.key(row), held));
        if (ServiceRows.isForOutside(table.key(row))) {
          keptForOutside.add(id);
        }
      }
      batch.put(table, SOURCE, id, table.key(row), held);
    }

    private void end(Batch batch) {
      for (final DesiredTable table : tables) {
        isChanged |= table.hasRestored();
        batch.complete(table, SOURCE);
      }
      isChanged |= !isEmpty();
      isRestored = true;
      setGate(batch, forOutside);
      batch.complete(gate, SOURCE);
    }

    @Override
    public void done(RuntimeException failure) {
      if (failure != null) {
        restored.completeExceptionally(failure);
      } else if (rest != null) {
        restored.complete(new Restored(isChanged, keptFrontends()));
      } else {
        begin();
        next();
      }
    }

    private void begin() {
      others.addAll(services.keySet());
      others.addAll(kept);
      others.removeAll(keptIds);
      wanted.forEach(service -> others.remove(service.id()));
      for (final int id : keptIds) {
        place(id, null);
        kept.add(id);
      }
      rest = wanted.iterator();
    }

    private void next() {
      if (rest.hasNext()) {
        final ServiceEntries service = rest.next();
        then(put(PlacedService.of(service, heldCells(service.id()), mostCells)));
      } else if (!others.isEmpty()) {
        isChanged = true;
        then(remove(others.removeFirst()));
      } else {
        reconciler.submit(this, this);
      }
    }

    private void then(CompletableFuture<ServiceEntries> change) {
      change.whenComplete(
          (former, failure) -> {
            if (failure == null) {
              next();
            } else {
              restored.completeExceptionally(failure);
            }
          });
    }

    /** The entry of a frontend belongs to the service that it names, which another one replaces. */
    private List<KeptFrontend> keptFrontends() {
      return frontends.stream().filter(ServiceTables.this::isKept).toList();
    }
  }

  private boolean isKept(KeptFrontend frontend) {
    final DesiredTable table = table(Part.FRONTENDS);
    for (final ServiceScope scope : ServiceScope.values()) {
      final int row = table.find(rows.frontendKey(frontend, scope));
      if (row >= 0 && table.isOf(row, SOURCE, frontend.serviceId())) {
        return true;
      }
    }
    return false;
  }
}
