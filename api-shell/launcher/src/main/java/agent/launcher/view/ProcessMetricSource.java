package agent.launcher.view;

import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Metrics of the process of the daemon; registered before the datapath starts. */
public final class ProcessMetricSource implements MetricRegistry.Source {
  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String RESIDENT = "VmRSS:";
  private static final String THREADS = "Threads:";
  private static final double BYTES_PER_KIB = 1024;

  private final long startNs = System.nanoTime();

  @Override
  public List<MetricFamily> collect() {
    final List<MetricFamily> families = new ArrayList<>();
    families.add(
        MetricFamily.gauge(
            "agent_uptime_seconds",
            "Time since the agent started",
            TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs)));
    try {
      for (final String line : Files.readAllLines(STATUS)) {
        if (line.startsWith(RESIDENT)) {
          families.add(
              MetricFamily.gauge(
                  "agent_process_resident_bytes",
                  "Resident memory of the agent",
                  number(line) * BYTES_PER_KIB));
        } else if (line.startsWith(THREADS)) {
          families.add(
              MetricFamily.gauge("agent_process_threads", "Threads of the agent", number(line)));
        }
      }
    } catch (IOException e) {
      return families; // without /proc there are fewer metrics
    }
    return families;
  }

  private static long number(String line) {
    return Long.parseLong(line.replaceAll("[^0-9]", ""));
  }
}
