package agent.datapath.manager.service;

import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.EntryComparison;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.load.NodeMapSet;
import agent.datapath.manager.spec.ServiceEntries;
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

  /** Makes the maps hold these services, and what they hold of those that are kept. */
  void restore(Collection<ServiceEntries> wanted, Set<Integer> keptIds) {
    for (final int id : keptIds) {
      kept.put(id, read(id));
    }
    final ServiceRows all = new ServiceRows();
    kept.values().forEach(all::addAll);
    for (final ServiceEntries service : wanted) {
      services.put(service.id(), service);
      all.addAll(ServiceRows.of(service));
    }
    put(all);
    removeOthers(all);
    isKnown = true;
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
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  void put(ServiceEntries service) {
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
    services.put(service.id(), service);
  }

  /** Removes a service, also one that is kept; does nothing where there is none. */
  void remove(int id) {
    final ServiceEntries service = services.remove(id);
    final ServiceRows rows = service == null ? kept.remove(id) : ServiceRows.of(service);
    if (rows != null) {
      remove(rows, new ServiceRows());
    }
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

  private void removeOthers(ServiceRows rows) {
    frontends.removeOthers(rows.frontends());
    slots.removeOthers(rows.slots());
    backends.removeOthers(rows.backends());
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
