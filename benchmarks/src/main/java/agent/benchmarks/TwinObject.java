package agent.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.types.Prefix;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** The twins of {@code floor.bpf.c}: the least that a program can do for the same packet. */
final class TwinObject implements AutoCloseable {
  private static final int BATCH = 10_000;

  private final BpfObject object;

  private TwinObject(BpfObject object) {
    this.object = object;
  }

  /** Loads the twins, with tables of flows as large as the agent's. */
  static TwinObject load(int flows4, int flows6) {
    try (InputStream elf = TwinObject.class.getResourceAsStream("/bpf/floor.bpf.o")) {
      final BpfObject object = BpfObject.open(elf.readAllBytes(), "floor");
      object.setMaxEntries("floor_flows4", flows4);
      object.setMaxEntries("floor_flows6", flows6);
      object.setMaxEntries("floor_inserts4", flows4);
      object.load();
      final MapDescription inserts = MapDescription.of(object.mapFd("floor_inserts4"));
      if (inserts.keySize() != Conntrack4KeyFlyweight.LENGTH
          || inserts.valueSize() != ConntrackEntryFlyweight.LENGTH) {
        throw new IllegalStateException("floor_inserts4 has not the shape of conntrack4_tcp");
      }
      return new TwinObject(object);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  BpfProgram program(String name, boolean ipv6) {
    return object.program(name + (ipv6 ? "6" : "4"));
  }

  /** Inserts a list into the plain LPM trie of its family. */
  void insert(List<Prefix> prefixes, boolean ipv6) {
    final int addressBytes = ipv6 ? 16 : 4;
    final int length = Integer.BYTES + addressBytes;
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment keys = arena.allocate((long) BATCH * length, 8);
      final MemorySegment values = arena.allocate(BATCH, 8);
      final MemorySegment count = arena.allocate(JAVA_INT);
      for (int first = 0; first < prefixes.size(); first += BATCH) {
        final int size = Math.min(BATCH, prefixes.size() - first);
        for (int i = 0; i < size; i++) {
          final Prefix prefix = prefixes.get(first + i);
          keys.set(JAVA_INT, (long) i * length, prefix.length());
          MemorySegment.copy(
              prefix.address().toBytes(),
              0,
              keys,
              JAVA_BYTE,
              (long) i * length + Integer.BYTES,
              addressBytes);
        }
        count.set(JAVA_INT, 0, size);
        final int fd = object.mapFd(ipv6 ? "floor_trie6" : "floor_trie4");
        final int result = MapCalls.updateBatch(fd, keys, values, count);
        if (result < 0) {
          throw new IllegalStateException("trie of the twin: " + Errno.name(result));
        }
      }
    }
  }

  @Override
  public void close() {
    object.close();
  }
}
