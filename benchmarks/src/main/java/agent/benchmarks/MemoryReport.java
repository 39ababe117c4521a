package agent.benchmarks;

import agent.bindings.Descriptors;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.kernel.BpfMap;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;

/**
 * Prints what each map of a node with default options costs in kernel memory with nothing in it, as
 * the kernel accounts it ({@code memlock} of its descriptor), and what it would cost without
 * preallocation.
 */
final class MemoryReport {
  private static final String MEMLOCK = "memlock:";

  private MemoryReport() {}

  static Report run() throws Exception {
    final Report report =
        new Report(
            "Kernel memory of the maps, default options, nothing in them",
            "map",
            "type",
            "entries",
            "KiB",
            "KiB without preallocation");
    try (BenchmarkNode node = new BenchmarkNode()) {
      node.namespace()
          .run(
              () -> {
                node.launch();
                rows(report, node.manager().maps().snapshot());
                return null;
              });
    }
    return report;
  }

  private static void rows(Report report, List<BpfMap> maps) {
    long all = 0;
    long least = 0;
    for (final BpfMap map :
        maps.stream().sorted(Comparator.comparingLong(MemoryReport::bytes).reversed()).toList()) {
      final long bytes = bytes(map);
      final long dynamic = bytesWithoutPreallocation(map);
      all += bytes;
      least += dynamic < 0 ? bytes : dynamic;
      report.row(
          map.name(),
          MapType.name(map.description().type()),
          "%,d".formatted(map.maxEntries()),
          kibibytes(bytes),
          dynamic < 0 ? "–" : kibibytes(dynamic));
    }
    report.row("all", "", "", kibibytes(all), kibibytes(least));
  }

  private static String kibibytes(long bytes) {
    return "%,d".formatted(bytes / 1024);
  }

  private static long bytes(BpfMap map) {
    return memlock(map.fd());
  }

  private static long memlock(int fd) {
    try {
      return Files.readAllLines(Path.of("/proc/self/fdinfo", Integer.toString(fd))).stream()
          .filter(line -> line.startsWith(MEMLOCK))
          .mapToLong(line -> Long.parseLong(line.substring(MEMLOCK.length()).strip()))
          .findFirst()
          .orElseThrow();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns -1 for a type that the kernel always or never preallocates. */
  private static long bytesWithoutPreallocation(BpfMap map) {
    final MapSpec spec = map.definition().spec();
    final boolean isHash = spec.type() == MapType.HASH || spec.type() == MapType.PERCPU_HASH;
    if (!isHash || (spec.flags() & MapFlag.NO_PREALLOC) != 0) {
      return -1;
    }
    final int fd =
        MapCalls.create(
            MapSpec.of(
                spec.type(),
                spec.name(),
                spec.keySize(),
                spec.valueSize(),
                spec.maxEntries(),
                spec.flags() | MapFlag.NO_PREALLOC));
    if (fd < 0) {
      throw new IllegalStateException("map " + spec.name() + " without preallocation");
    }
    try {
      return memlock(fd);
    } finally {
      Descriptors.close(fd);
    }
  }
}
