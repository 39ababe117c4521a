package agent.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.BpfObject;
import agent.bindings.Errno;
import agent.bindings.MapCalls;
import agent.conntrack.ProgramSweeper;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.ShippedMaps;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import agent.testkit.HeapAllocation;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.agrona.concurrent.UnsafeBuffer;

/** Measures the conntrack sweep inside the kernel over a million flows. */
final class SweepReport {
  private static final int FLOWS = 1_000_000;
  private static final int CAPACITY = 2_000_000;
  private static final int BATCH = 10_000;
  private static final int RUNS = 7;
  private static final double GOAL = 1.2;

  private final ConntrackSweepFlyweight result = new ConntrackSweepFlyweight();
  private final BpfMap table;
  private final ProgramSweeper sweeper;

  private SweepReport(BpfMap table, ProgramSweeper sweeper) {
    this.table = table;
    this.sweeper = sweeper;
  }

  static Report run() throws IOException {
    final Report report =
        new Report(
            "Conntrack sweep of 1,000,000 flows inside the kernel",
            "work",
            "measured",
            "same walk in a syscall program (quoted)",
            "goal",
            "bytes allocated",
            "remarks");
    final MapDefinition definition =
        ShippedMaps.of("conntrack_gc").get(NodeMaps.CONNTRACK4_TCP).withMaxEntries(CAPACITY);
    try (BpfMap table = BpfMap.create(definition, "");
        BpfObject object = open(table);
        ProgramSweeper sweeper = new ProgramSweeper(object.program("conntrack_sweep"))) {
      final SweepReport sweep = new SweepReport(table, sweeper);
      sweep.row(report, "half of them expired", 198, true);
      sweep.row(report, "none of them expired", 107, false);
    }
    return report;
  }

  private static BpfObject open(BpfMap table) throws IOException {
    try (InputStream elf = SweepReport.class.getResourceAsStream("/bpf/conntrack_gc.bpf.o")) {
      final BpfObject object = BpfObject.open(elf.readAllBytes(), "conntrack_gc");
      object.setMaxEntries(table.name(), CAPACITY);
      object.reuseMap(table.name(), table.fd());
      object.load();
      return object;
    }
  }

  private void row(Report report, String work, double quotedMs, boolean half) {
    final long[] times = new long[RUNS];
    long allocated = 0;
    for (int i = 0; i < RUNS; i++) {
      fill(half);
      final long before = HeapAllocation.bytes();
      final long start = System.nanoTime();
      final int error = sweeper.sweep(ConntrackTable.TCP4.number(), false, result);
      times[i] = System.nanoTime() - start;
      allocated = HeapAllocation.bytes() - before;
      if (error != 0) {
        throw new IllegalStateException("sweep: " + Errno.name(error));
      }
    }
    Arrays.sort(times);
    report.row(
        work,
        Report.figure(times[RUNS / 2] / 1e6) + " ms",
        Report.figure(quotedMs) + " ms",
        times[RUNS / 2] / 1e6 <= GOAL * quotedMs ? "met (1.2x)" : "missed (1.2x)",
        Long.toString(allocated),
        "%,d visited, %,d deleted; the sweep runs in the kernel without interruption"
            .formatted(result.visited(), result.deleted()));
  }

  private void fill(boolean half) {
    final int keyLength = Conntrack4KeyFlyweight.LENGTH;
    final int entryLength = ConntrackEntryFlyweight.LENGTH;
    final Conntrack4KeyFlyweight key = new Conntrack4KeyFlyweight();
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight();
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment keys = arena.allocate((long) BATCH * keyLength, 8);
      final MemorySegment entries = arena.allocate((long) BATCH * entryLength, 8);
      final MemorySegment count = arena.allocate(JAVA_INT);
      final UnsafeBuffer keyBuffer = new UnsafeBuffer(keys.address(), BATCH * keyLength);
      final UnsafeBuffer entryBuffer = new UnsafeBuffer(entries.address(), BATCH * entryLength);
      for (int first = 0; first < FLOWS; first += BATCH) {
        for (int i = 0; i < BATCH; i++) {
          final int flow = first + i;
          key.wrap(keyBuffer, i * keyLength).clear().protocol(6).lowAddress(flow).lowPort(80);
          final boolean expired = half && (flow & 1) == 0;
          entry.wrap(entryBuffer, i * entryLength).clear().expiresNs(expired ? 1 : Long.MAX_VALUE);
        }
        count.set(JAVA_INT, 0, BATCH);
        final int error = MapCalls.updateBatch(table.fd(), keys, entries, count);
        if (error != 0) {
          throw new IllegalStateException("fill: " + Errno.name(error));
        }
      }
    }
  }
}
