package agent.datapath.manager;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.LoadException;
import agent.conductor.HealthBoard;
import agent.conntrack.ConntrackCounters;
import agent.conntrack.ConntrackGc;
import agent.conntrack.EndpointShares;
import agent.conntrack.ProgramSweeper;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.programs.load.NodeConstants;
import agent.datapath.programs.load.ProgramLoader;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.DatapathStatus;
import agent.maps.kernel.FlowUsageArray;
import agent.maps.layout.ConntrackTable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Sums the counters of the conntrack garbage collector over the tables of this node.
 *
 * @param overflowed the flows that endpoints have opened beyond their share of the tables
 * @param overflowing names the endpoints that open such flows now; empty without one
 */
record ConntrackReport(
    ConntrackGc gc,
    LongSupplier overflowed,
    Supplier<String> overflowing,
    List<ConntrackTable> tables) {
  /** Returns the tables of the families that the node has. */
  static List<ConntrackTable> tables(DatapathContext context) {
    final List<ConntrackTable> tables = new ArrayList<>();
    if (context.enableIpv4()) {
      tables.add(ConntrackTable.TCP4);
      tables.add(ConntrackTable.ANY4);
      tables.add(ConntrackTable.OVERFLOW4);
    }
    if (context.enableIpv6()) {
      tables.add(ConntrackTable.TCP6);
      tables.add(ConntrackTable.ANY6);
      tables.add(ConntrackTable.OVERFLOW6);
    }
    return tables;
  }

  /** Returns the shares of the tables, whose sizes the context has. */
  static EndpointShares shares(DatapathContext context, FlowUsageArray usage) {
    final int cpus = LibBpf.possibleCpus();
    return new EndpointShares(
        usage,
        EndpointShares.capacity(context.conntrackTcpMax(), cpus),
        EndpointShares.capacity(context.conntrackAnyMax(), cpus));
  }

  /** Without its program no flow is swept; the kernel evicts the oldest of a full table. */
  static ConntrackGc.ConntrackSweeper sweeper(
      Resources resources, ProgramLoader loader, NodeConstants constants) {
    try {
      final BpfObject sweep =
          resources.add(loader.load(ProgramFile.CONNTRACK_GC, constants::write));
      return resources.add(new ProgramSweeper(sweep.program("conntrack_sweep")));
    } catch (LoadException isInHealth) {
      return (table, watches, result) -> -Errno.EOPNOTSUPP;
    }
  }

  DatapathStatus.Conntrack status() {
    final ConntrackCounters counters = gc.counters();
    long runs = Long.MAX_VALUE;
    long entries = 0;
    long visited = 0;
    long deleted = 0;
    long lastNs = 0;
    for (final ConntrackTable table : tables) {
      runs = Math.min(runs, counters.sweeps(table));
      entries += counters.entries(table);
      visited += counters.visited(table);
      deleted += counters.deleted(table);
      lastNs += counters.lastDurationNs(table);
    }
    return new DatapathStatus.Conntrack(
        (int) TimeUnit.NANOSECONDS.toSeconds(gc.intervalNs()),
        runs,
        entries,
        visited,
        deleted,
        lastNs,
        overflowed.getAsLong());
  }

  /** Returns DEGRADED with the endpoints that open flows beyond their share of the tables. */
  HealthBoard.Reading shareHealth() {
    final String endpoints = overflowing.get();
    return endpoints.isEmpty()
        ? HealthBoard.Reading.ok("no endpoint exceeds its conntrack share")
        : HealthBoard.Reading.degraded("conntrack share exceeded: " + endpoints);
  }

  /** Returns DEGRADED with the errno where the last sweep of a table failed. */
  HealthBoard.Reading health() {
    for (final ConntrackTable table : tables) {
      final int errno = gc.counters().lastErrno(table);
      if (errno != 0) {
        return HealthBoard.Reading.degraded("sweep of " + table + ": " + Errno.name(errno));
      }
    }
    return HealthBoard.Reading.ok("the last sweep of every table succeeded");
  }
}
