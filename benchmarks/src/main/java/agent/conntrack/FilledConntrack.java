package agent.conntrack;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapCalls;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The table of IPv4 TCP flows with as many as a benchmark wants, and the program that sweeps it.
 */
public final class FilledConntrack implements AutoCloseable {
  private static final int BATCH = 10_000;
  private static final int TCP = 6;

  private final int flows;
  private final BpfMap table;
  private final BpfObject object;
  private final ProgramSweeper sweeper;

  /**
   * Creates an empty table with room for twice the flows, and loads the program.
   *
   * @param flows a multiple of 10,000
   */
  public FilledConntrack(int flows) throws IOException {
    LibBpf.ensureLoaded();
    this.flows = flows;
    table =
        BpfMap.create(
            MapDefinitions.of("conntrack_gc")
                .get(MapCatalog.CONNTRACK4_TCP)
                .withMaxEntries(2 * flows),
            "");
    try (InputStream elf = FilledConntrack.class.getResourceAsStream("/bpf/conntrack_gc.bpf.o")) {
      object = BpfObject.open(elf.readAllBytes(), "conntrack_gc");
    }
    object.setMaxEntries(table.name(), table.maxEntries());
    object.reuseMap(table.name(), table.fd());
    object.load();
    sweeper = new ProgramSweeper(object.program("conntrack_sweep"));
  }

  /** Returns the sweeper of the table. */
  public ProgramSweeper sweeper() {
    return sweeper;
  }

  /**
   * Writes all flows.
   *
   * @param isHalfExpired whether every second flow has expired; otherwise none ever does
   */
  public void fill(boolean isHalfExpired) {
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
      for (int first = 0; first < flows; first += BATCH) {
        for (int i = 0; i < BATCH; i++) {
          final int flow = first + i;
          key.wrap(keyBuffer, i * keyLength).clear().protocol(TCP).lowAddress(flow).lowPort(80);
          final boolean isExpired = isHalfExpired && (flow & 1) == 0;
          entry.wrap(entryBuffer, i * entryLength).clear();
          entry.expiresNs(isExpired ? 1 : Long.MAX_VALUE);
        }
        count.set(JAVA_INT, 0, BATCH);
        final int error = MapCalls.updateBatch(table.fd(), keys, entries, count);
        if (error != 0) {
          throw new IllegalStateException("fill the table: " + Errno.name(error));
        }
      }
    }
  }

  @Override
  public void close() {
    sweeper.close();
    object.close();
    table.close();
  }
}
