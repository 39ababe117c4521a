package agent.benchmarks;

import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.MapCallsBenchmark;
import agent.bindings.bpf.MapDescription;
import agent.maps.kernel.RingBufferReaderBenchmark;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/** Measures map calls, dump and ring buffer in Java with JMH, and in C on the same maps. */
final class MapReport {
  private static final int CALLS = 1_000_000;
  private static final int RING_REPEATS = 200;

  private MapReport() {}

  static Report run() throws RunnerException {
    final Report report =
        new Report(
            "Kernel maps from user space (14-byte key, 56-byte value, 1,000,000 entries)",
            "work",
            "Java, ns",
            "C with libbpf, ns",
            "ratio",
            "goal",
            "Java, bytes (JMH -prof gc)");
    final int map = MapCallsBenchmark.createFilled();
    try (BpfObject object = TrivialObject.load();
        CTwin twin = CTwin.compile(Path.of("benchmarks/src/main/c/twin.c"))) {
      final int id = MapDescription.of(map).id();
      final String calls = MapCallsBenchmark.class.getName();
      row(
          report,
          "one lookup",
          calls + ".lookup",
          "1.1x",
          id,
          0,
          figure(twin, "lookup", id, CALLS));
      row(
          report,
          "one update",
          calls + ".update",
          "1.1x",
          id,
          0,
          figure(twin, "update", id, CALLS));
      row(report, "dump, an entry", calls + ".dump", "1.05x", id, 0, figure(twin, "dump", id, 0));
      final int ring = MapDescription.of(object.mapFd("ring")).id();
      final int program = object.program("fill_ring").info().id();
      row(
          report,
          "ring buffer, an event",
          RingBufferReaderBenchmark.class.getName() + ".consume",
          "1.2x",
          ring,
          program,
          figure(twin, "ring", ring, program, RingBufferReaderBenchmark.EVENTS, RING_REPEATS));
    } finally {
      Descriptors.close(map);
    }
    return report;
  }

  private static double figure(CTwin twin, Object... arguments) {
    return twin == null ? Double.NaN : twin.run(arguments);
  }

  private static void row(
      Report report,
      String work,
      String benchmark,
      String goal,
      int mapId,
      int programId,
      double reference)
      throws RunnerException {
    final RunResult result = measure(benchmark, mapId, programId);
    final double java = result.getPrimaryResult().getScore();
    report.row(
        work,
        Report.figure(java),
        Report.figure(reference),
        Report.ratio(java, reference),
        goal,
        Report.figure(result.getSecondaryResults().get("gc.alloc.rate.norm").getScore()));
  }

  private static RunResult measure(String benchmark, int mapId, int programId)
      throws RunnerException {
    final OptionsBuilder options = new OptionsBuilder();
    options
        .include("^" + benchmark.replace(".", "\\.") + "$")
        .param("mapId", Integer.toString(mapId))
        .forks(1)
        .warmupIterations(3)
        .warmupTime(TimeValue.seconds(1))
        .measurementIterations(7)
        .measurementTime(TimeValue.seconds(1))
        .addProfiler(GCProfiler.class)
        .jvmArgs(jvmFlags().toArray(String[]::new))
        .verbosity(org.openjdk.jmh.runner.options.VerboseMode.SILENT);
    if (programId != 0) {
      options.param("programId", Integer.toString(programId));
    }
    return new Runner(options.build()).runSingle();
  }

  private static List<String> jvmFlags() {
    return ManagementFactory.getRuntimeMXBean().getInputArguments();
  }
}
