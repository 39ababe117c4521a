package agent.datapath.manager.service;

import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.EntryComparison;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.load.NodeMapSet;
import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceProxy.KeptFrontend;
import agent.maps.kernel.NodeMaps;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The maps {@code services}, {@code service_slots} and {@code service_backends}, and what they are
 * to hold. Written in the order in which the programs read, from the end: what an entry refers to
 * is there before it, and goes after it. For the conductor's thread.
 */
final class ServiceTables implements Check {
  private final EntryComparison comparison;
  private final ServiceTable frontends;
  private final ServiceTable slots;
  private final ServiceTable backends;
  private final List<ServiceTable> tables;
  private final Map<Integer, ServiceEntries> services = new TreeMap<>();
  private final Map<Integer, ServiceRows> kept = new TreeMap<>();
  private boolean isKnown;
  private int next;

  /** Creates the writer of maps whose content is not known. */
  ServiceTables(NodeMapSet maps, KernelFaults faults, Repairs repairs) {
    comparison = new EntryComparison(faults, repairs);
    frontends = new ServiceTable(maps.get(NodeMaps.SERVICES));
    slots = new ServiceTable(maps.get(NodeMaps.SERVICE_SLOTS));
    backends = new ServiceTable(maps.get(NodeMaps.SERVICE_BACKENDS));
    tables = List.of(frontends, slots, backends);
  }

  /** Begins to make the maps hold other services; what they hold of those that are kept stays. */
  void beginRestore(Set<Integer> keptIds) {
    isKnown = false;
    services.clear();
    kept.clear();
    tables.forEach(ServiceTable::clear);
    for (final int id : keptIds) {
      final ServiceRows held = read(id);
      kept.put(id, held);
      put(held);
    }
  }

  /** Adds services, a part of those that the maps are to hold. */
  void restore(Collection<ServiceEntries> part) {
    for (final ServiceEntries service : part) {
      services.put(service.id(), service);
      put(ServiceRows.of(service));
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
    backends.read(ServiceRows.idOfKey(id), rows.backends());
    return rows;
  }

  /**
   * Replaces a service; where the kernel refuses, the former one is put back.
   *
   * @return the former one, or null
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  ServiceEntries put(ServiceEntries service) {
    final ServiceEntries before = services.get(service.id());
    final ServiceRows former = before == null ? new ServiceRows() : ServiceRows.of(before);
    final ServiceRows wanted = ServiceRows.of(service);
    try {
      put(wanted);
    } catch (RuntimeException failure) {
      put(former);
      remove(wanted, former);
      throw failure;
    }
    remove(former, wanted);
    return services.put(service.id(), service);
  }

  /**
   * Removes a service, also one that is kept; does nothing where there is none.
   *
   * @return the service; null where there is none, or one that is kept
   */
  ServiceEntries remove(int id) {
    final ServiceEntries service = services.remove(id);
    final ServiceRows rows = service == null ? kept.remove(id) : ServiceRows.of(service);
    if (rows != null) {
      leaveToOthers(rows);
      remove(rows, new ServiceRows());
    }
    return service;
  }

  boolean isEmpty() {
    return services.isEmpty() && kept.isEmpty();
  }

  private void put(ServiceRows rows) {
    backends.put(rows.backends());
    slots.put(rows.slots());
    frontends.put(rows.frontends());
  }

  private void remove(ServiceRows rows, ServiceRows except) {
    frontends.remove(rows.frontends(), except.frontends());
    slots.remove(rows.slots(), except.slots());
    backends.remove(rows.backends(), except.backends());
  }

  @Override
  public Progress step(long nowNs) {
    if (!isKnown || next == tables.size()) {
      next = 0;
      return Progress.DONE;
    }
    if (comparison.guarded() == null) {
      comparison.begin(tables.get(next).guarded());
    }
    final int repaired = comparison.step();
    if (comparison.guarded() == null) {
      next++;
    }
    return repaired == 0 ? Progress.COMPARED : Progress.REPAIRED;
  }

  @Override
  public void close() {
    comparison.abandon();
  }

  @Override
  public String toString() {
    return "services";
  }
}
