package agent.benchmarks;

import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Measures the installed daemon: its start, new endpoints, and resident memory. */
final class DaemonReport {
  private static final int STARTS = 7;
  private static final int ENDPOINTS = 10;
  private static final int FURTHER_ENDPOINTS = 20;
  private static final long RESIDENT_GOAL_MB = 128;
  private static final long START_LIMIT_MS = 30_000;

  private final Path daemon;
  private final Report report =
      new Report("The daemon", "work", "measured", "goal", "goal met", "peer (quoted)", "remarks");

  private DaemonReport(Path daemon) {
    this.daemon = daemon;
  }

  /** Measures the daemon under an installation prefix. */
  static Report run(Path prefix) throws Exception {
    final DaemonReport daemon = new DaemonReport(prefix.resolve("bin/agent"));
    daemon.starts();
    daemon.endpoints();
    return daemon.report;
  }

  private void starts() throws Exception {
    final long[] answered = new long[STARTS];
    final long[] ready = new long[STARTS];
    for (int i = 0; i < STARTS; i++) {
      try (Running running = new Running(daemon)) {
        answered[i] = running.until("/healthz");
        ready[i] = running.until("/endpoint");
      }
    }
    row("start to first answer, node without state", answered, "1,100 to 1,500 ms", 600);
    row("start to datapath ready", ready, "–", 800);
  }

  private void endpoints() throws Exception {
    try (Running running = new Running(daemon)) {
      running.until("/endpoint");
      final List<String> requests = new ArrayList<>();
      for (int i = 0; i < ENDPOINTS + FURTHER_ENDPOINTS; i++) {
        requests.add(running.plumb(i));
      }
      final long[] first = running.create(requests.subList(0, ENDPOINTS));
      final long residentKb = running.residentKb();
      final long[] further =
          running.create(requests.subList(ENDPOINTS, ENDPOINTS + FURTHER_ENDPOINTS));
      row("new endpoint to enforced, the first ten", first, "211 ms", 25);
      row("new endpoint to enforced, twenty further", further, "211 ms", 25);
      report.row(
          "resident memory, 10 endpoints",
          residentKb / 1024 + " MB",
          RESIDENT_GOAL_MB + " MB",
          residentKb / 1024 <= RESIDENT_GOAL_MB ? "met" : "missed",
          "195 to 219 MB",
          "VmRSS");
    }
  }

  private void row(String work, long[] timesUs, String peer, long goalMs) {
    Arrays.sort(timesUs);
    report.row(
        work,
        millis(timesUs[timesUs.length / 2]),
        goalMs + " ms",
        timesUs[timesUs.length / 2] <= goalMs * 1000 ? "met" : "missed",
        peer,
        "median of "
            + timesUs.length
            + ", "
            + millis(timesUs[0])
            + " to "
            + millis(timesUs[timesUs.length - 1]));
  }

  private static String millis(long us) {
    return Report.figure(us / 1000.0) + " ms";
  }

  /** One daemon in a separate network namespace. */
  private static final class Running implements AutoCloseable {
    private final NetworkNamespace node = NetworkNamespace.create("benchd");
    private final NetworkNamespace workloads = NetworkNamespace.create("benchd");
    private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
    private final Path state = Files.createTempDirectory("agent-benchd-");
    private final UnixHttp http = new UnixHttp(state.resolve("agent.sock"));
    private final Process process;
    private final long startedNs;

    Running(Path daemon) throws IOException {
      final String[] command =
          node.inside(
              daemon.toString(),
              "--state-dir",
              state.toString(),
              "--bpf-root",
              bpffs.path().toString(),
              "--ipv4-range",
              "10.201.0.0/24",
              "--ipv6-range",
              "fd00:201::/96");
      startedNs = System.nanoTime();
      process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(state.resolve("output").toFile())
              .start();
    }

    /** Microseconds from the start to the first answer of status 200. */
    long until(String path) throws Exception {
      while (true) {
        try {
          final int status = http.call("GET", path, "").status();
          if (status == 200 || status == 404) {
            return elapsedUs(startedNs);
          }
        } catch (IOException notYet) {
          // The socket does not exist yet, or the daemon does not listen on it yet.
        }
        if (!process.isAlive() || elapsedUs(startedNs) > START_LIMIT_MS * 1000) {
          throw new IllegalStateException(
              "the daemon did not start: " + Files.readString(state.resolve("output")));
        }
        Thread.sleep(1);
      }
    }

    /** Creates the interface of a workload and returns the request that creates its endpoint. */
    String plumb(int index) {
      final VethPair veth = VethPair.create(node, "h" + index, workloads, "w" + index);
      return """
          {"state":"waiting-for-identity","sync-build-endpoint":true,"container-id":"bench-%d",
          "interface-name":"%s","mac":"%s","host-mac":"%s","labels":["app=bench"],
          "addressing":{"ipv4":"10.201.0.%d","ipv6":"fd00:201::%x"}}"""
          .formatted(
              index,
              veth.hostInterface(),
              veth.workloadMac(),
              veth.hostMac(),
              20 + index,
              20 + index);
    }

    long[] create(List<String> requests) throws IOException {
      final long[] times = new long[requests.size()];
      for (int i = 0; i < times.length; i++) {
        final long start = System.nanoTime();
        final UnixHttp.Answer answer = http.call("PUT", "/endpoint/0", requests.get(i));
        times[i] = elapsedUs(start);
        if (answer.status() != 201) {
          throw new IllegalStateException("PUT /endpoint/0: " + answer.text());
        }
      }
      return times;
    }

    long residentKb() throws IOException {
      for (final String line :
          Files.readAllLines(Path.of("/proc", Long.toString(process.pid()), "status"))) {
        if (line.startsWith("VmRSS:")) {
          return Long.parseLong(line.replaceAll("\\D", ""));
        }
      }
      throw new IOException("no VmRSS of process " + process.pid());
    }

    private static long elapsedUs(long sinceNs) {
      return (System.nanoTime() - sinceNs) / 1000;
    }

    @Override
    public void close() throws IOException {
      process.destroy();
      try {
        process.onExit().get(10, TimeUnit.SECONDS);
      } catch (TimeoutException late) {
        process.destroyForcibly().onExit().join();
      } catch (InterruptedException | ExecutionException failure) {
        throw new IOException("stopping the daemon", failure);
      }
      bpffs.close();
      workloads.close();
      node.close();
      try (var files = Files.walk(state)) {
        for (final Path path : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
  }
}
