package agent.datapath.manager.service;

import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.EntryComparison;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.load.NodeMapSet;
import agent.maps.kernel.NodeMaps;
import java.util.List;

/**
 * The maps of services and their comparison with what they are to hold. For the conductor's thread.
 */
final class ServiceGuard implements Check {
  private final EntryComparison comparison;
  private final ServiceTables tables;
  private final List<ServiceMap> compared;
  private int next;

  /**
   * Opens maps whose content is not known.
   *
   * @param mostCells the largest number of cells of a service's table; 0 for no tables
   */
  ServiceGuard(NodeMapSet maps, KernelFaults faults, Repairs repairs, int mostCells) {
    comparison = new EntryComparison(faults, repairs);
    final ServiceMap frontends = new ServiceMap(maps.get(NodeMaps.SERVICES));
    final ServiceMap slots = new ServiceMap(maps.get(NodeMaps.SERVICE_SLOTS));
    final ServiceMap headers = new ServiceMap(maps.get(NodeMaps.SERVICE_TABLES));
    final ServiceMap cells = new ServiceMap(maps.get(NodeMaps.SERVICE_CELLS));
    final ServiceMap ends = new ServiceMap(maps.get(NodeMaps.SERVICE_ENDS));
    final ServiceMap backends = new ServiceMap(maps.get(NodeMaps.SERVICE_BACKENDS));
    final ServiceMap gate = new ServiceMap(maps.get(NodeMaps.SERVICE_GATE));
    tables =
        new ServiceTables(
            new GatedFrontends(frontends, gate), slots, headers, cells, ends, backends, mostCells);
    compared = List.of(gate, frontends, headers, cells, ends, slots, backends);
  }

  /** Returns the writer of the maps. */
  ServiceTables tables() {
    return tables;
  }

  @Override
  public Progress step(long nowNs) {
    if (!tables.isKnown() || next == compared.size()) {
      next = 0;
      return Progress.DONE;
    }
    if (comparison.guarded() == null) {
      comparison.begin(compared.get(next).guarded());
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
