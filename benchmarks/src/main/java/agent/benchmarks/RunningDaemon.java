package agent.benchmarks;

import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** An installed daemon in a network namespace of its own, with workloads in another. */
final class RunningDaemon implements AutoCloseable {
  private static final long START_LIMIT_MS = 120_000;

  /** The address of a host outside. */
  static final String OUTSIDE = "198.51.100.53";

  private final NetworkNamespace node = NetworkNamespace.create("benchd");
  private final NetworkNamespace workloads = NetworkNamespace.create("benchd");
  private final NetworkNamespace outside = NetworkNamespace.create("bencho");
  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final Path state = Files.createTempDirectory("agent-benchd-");
  private final List<Workload> owned = new ArrayList<>();
  private final UnixHttp http = new UnixHttp(state.resolve("agent.sock"));
  private final String[] command;
  private Process process;
  private long startedNs;

  RunningDaemon(Path daemon, String... options) throws IOException {
    final List<String> line = new ArrayList<>();
    line.add(daemon.toString());
    line.addAll(List.of("--state-dir", state.toString(), "--bpf-root", bpffs.path().toString()));
    line.addAll(List.of("--ipv4-range", "10.201.0.0/16", "--ipv6-range", "fd00:201::/96"));
    line.addAll(List.of(options));
    command = node.inside(line.toArray(String[]::new));
    start();
  }

  private void start() throws IOException {
    startedNs = System.nanoTime();
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(state.resolve("output").toFile())
            .start();
  }

  /** Ends the daemon and starts it again on its state. */
  void restart() throws IOException {
    stop();
    start();
  }

  /** Microseconds from the start until this number of endpoints is ready. */
  long untilReady(int endpoints) throws Exception {
    until("/endpoint");
    while (readyEndpoints() < endpoints) {
      if (!process.isAlive() || elapsedUs(startedNs) > START_LIMIT_MS * 1000) {
        throw new IllegalStateException(readyEndpoints() + " endpoints ready of " + endpoints);
      }
      Thread.sleep(5);
    }
    return elapsedUs(startedNs);
  }

  private int readyEndpoints() throws IOException {
    return http.call("GET", "/endpoint", "").text().split("\"state\":\"ready\"", -1).length - 1;
  }

  /** The policy maps that are open. */
  int policyMaps() throws IOException {
    return (int)
        Pattern.compile("policy_\\d+")
            .matcher(http.call("GET", "/map", "").text())
            .results()
            .map(MatchResult::group)
            .distinct()
            .count();
  }

  /** Kernel memory of all maps that the daemon has open, by what the kernel accounts to each. */
  long mapKb() throws IOException {
    final Map<String, Long> bytes = new HashMap<>();
    try (var descriptors = Files.list(Path.of("/proc", Long.toString(process.pid()), "fdinfo"))) {
      for (final Path descriptor : descriptors.toList()) {
        final List<String> lines = Files.readAllLines(descriptor);
        final String map = value(lines, "map_id:");
        if (map != null) {
          bytes.put(map, Long.parseLong(value(lines, "memlock:")));
        }
      }
    }
    return bytes.values().stream().mapToLong(Long::longValue).sum() / 1024;
  }

  private static String value(List<String> lines, String name) {
    return lines.stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()).strip())
        .findFirst()
        .orElse(null);
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

  /** Returns a load that reads a path of the API. */
  ReadLoad load(String path) {
    return new ReadLoad(state.resolve("agent.sock"), path);
  }

  /** Returns a load that changes policy. */
  PolicyLoad policyLoad() {
    return new PolicyLoad(state.resolve("agent.sock"));
  }

  /** Returns a load that creates services. */
  ServiceLoad serviceLoad() {
    return new ServiceLoad(state.resolve("agent.sock"));
  }

  /** Creates the interface of a workload and returns the request that creates its endpoint. */
  String plumb(int index) {
    return plumb(index, "bench");
  }

  /** As {@link #plumb(int)}, with the label that makes its identity. */
  String plumb(int index, String app) {
    final VethPair veth = VethPair.create(node, "h" + index, workloads, "w" + index);
    return request(
        index,
        veth,
        app,
        "10.201.%d.%d".formatted(1 + index / 200, 20 + index % 200),
        "fd00:201::%x".formatted(20 + index));
  }

  private static String request(int index, VethPair veth, String app, String ipv4, String ipv6) {
    return """
          {"state":"waiting-for-identity","sync-build-endpoint":true,"container-id":"bench-%d",
          "interface-name":"%s","mac":"%s","host-mac":"%s","labels":["app=%s"],
          "addressing":{"ipv4":"%s","ipv6":"%s"}}"""
        .formatted(
            index, veth.hostInterface(), veth.workloadMac(), veth.hostMac(), app, ipv4, ipv6);
  }

  /** Creates a workload with a namespace and addresses of its own, and its endpoint. */
  Workload workload(int index, String app) throws IOException {
    final Workload workload =
        Workload.create(
            node,
            "bw" + index,
            "10.201.250." + index,
            "10.201.0.1",
            "fd00:201::250:" + index,
            "fd00:201::1");
    owned.add(workload);
    create(List.of(request(index, workload.veth(), app, workload.ipv4(), workload.ipv6())));
    return workload;
  }

  /** Connects a host to the node, outside of it, at the address {@link #OUTSIDE}. */
  NetworkNamespace outside() {
    VethPair.create(node, "ext0", outside, "eth0");
    node.ip("address add 198.51.100.1/24 dev ext0");
    outside.ip("address add " + OUTSIDE + "/24 dev eth0");
    outside.ip("route add 10.201.0.0/16 via 198.51.100.1");
    return outside;
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

  /** Adds rules; returns how many microseconds that took. */
  long importRules(String rules) throws IOException {
    final long start = System.nanoTime();
    final UnixHttp.Answer answer = http.call("PUT", "/policy", rules);
    if (answer.status() != 200) {
      throw new IllegalStateException("PUT /policy: " + answer.text());
    }
    return elapsedUs(start);
  }

  /** Returns the resident memory of the daemon and of its process of the proxies, if it has one. */
  long residentKb() throws IOException {
    return memoryKb("VmRSS");
  }

  /** Returns what of that is no page of a file, which the kernel could take back. */
  long anonymousKb() throws IOException {
    return memoryKb("RssAnon");
  }

  private long memoryKb(String field) throws IOException {
    long sumKb = memoryKb(process.pid(), field);
    for (final ProcessHandle child : process.children().toList()) {
      sumKb += memoryKb(child.pid(), field);
    }
    return sumKb;
  }

  private static long memoryKb(long pid, String field) throws IOException {
    for (final String line : Files.readAllLines(Path.of("/proc", Long.toString(pid), "status"))) {
      if (line.startsWith(field + ":")) {
        return Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    throw new IOException("no %s of process %d".formatted(field, pid));
  }

  static long elapsedUs(long sinceNs) {
    return (System.nanoTime() - sinceNs) / 1000;
  }

  @Override
  public void close() throws IOException {
    stop();
    owned.forEach(Workload::close);
    bpffs.close();
    workloads.close();
    outside.close();
    node.close();
    try (var files = Files.walk(state)) {
      for (final Path path : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  private void stop() throws IOException {
    process.destroy();
    try {
      process.onExit().get(10, TimeUnit.SECONDS);
    } catch (TimeoutException late) {
      process.destroyForcibly().onExit().join();
    } catch (InterruptedException | ExecutionException failure) {
      throw new IOException("stopping the daemon", failure);
    }
  }
}
