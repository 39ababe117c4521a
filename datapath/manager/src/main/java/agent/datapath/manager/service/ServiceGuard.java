package agent.datapath.manager.service;

import agent.conductor.Repairs;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.MapRounds;
import agent.datapath.manager.load.OpenMaps;
import agent.maps.kernel.MapCatalog;
import java.util.stream.Stream;

/**
 * The maps of services and their comparison with what they are to hold. For the conductor's thread.
 */
final class ServiceGuard implements Check {
  private final ServiceTables tables;
  private final MapRounds rounds;

  /**
   * Opens maps whose content is not known.
   *
   * @param mostCells the largest number of cells of a service's table; 0 for no tables
   */
  ServiceGuard(OpenMaps maps, KernelFaults faults, Repairs repairs, int mostCells) {
    final ServiceMap frontends = new ServiceMap(maps.get(MapCatalog.SERVICES));
    final ServiceMap slots = new ServiceMap(maps.get(MapCatalog.SERVICE_SLOTS));
    final ServiceMap headers = new ServiceMap(maps.get(MapCatalog.SERVICE_TABLES));
    final ServiceMap cells = new ServiceMap(maps.get(MapCatalog.SERVICE_CELLS));
    final ServiceMap ends = new ServiceMap(maps.get(MapCatalog.SERVICE_ENDS));
    final ServiceMap backends = new ServiceMap(maps.get(MapCatalog.SERVICE_BACKENDS));
    final ServiceMap gate = new ServiceMap(maps.get(MapCatalog.SERVICE_GATE));
    tables =
        new ServiceTables(
            new GatedFrontends(frontends, gate), slots, headers, cells, ends, backends, mostCells);
    rounds =
        new MapRounds(
            faults,
            repairs,
            Stream.of(gate, frontends, headers, cells, ends, slots, backends)
                .map(ServiceMap::guarded)
                .toList());
  }

  /** Returns the writer of the maps. */
  ServiceTables tables() {
    return tables;
  }

  @Override
  public Progress step(long nowNs) {
    return tables.isKnown() ? rounds.step() : Progress.DONE;
  }

  @Override
  public void close() {
    rounds.abandon();
  }

  @Override
  public String toString() {
    return "services";
  }
}
