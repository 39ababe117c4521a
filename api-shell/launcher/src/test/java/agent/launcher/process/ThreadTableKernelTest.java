package agent.launcher.process;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.contract.monitor.MonitorStream;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.OtherThread;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The table of threads in README has each thread of the agent and of the process of the proxies,
 * and none that does not run where all parts of the agent have work.
 */
@KernelTest
class ThreadTableKernelTest {
  private static final Path README = Path.of("../../README.md");
  private static final String HEAD = "| Thread | Process | Owns | Waits for |";
  private static final Pattern ROW = Pattern.compile("\\| ([^|]+) \\| ([a-z]+) \\|.*\\|");
  private static final Pattern NAME = Pattern.compile("`([^`]+)`");
  private static final Map<String, List<String>> PROCESSES =
      Map.of(
          "agent", List.of("agent"),
          "proxies", List.of("proxies"),
          "both", List.of("agent", "proxies"));

  /** The kernel keeps so many characters of the name of a thread. */
  private static final int LONGEST_NAME = 15;

  /** What the last row stands for: compilers, collector and clean-up of the JVM. */
  private static final Pattern OF_THE_JVM =
      Pattern.compile(
          "VM Thread|VM Periodic Tas|C[12] CompilerThre|Training replay|Service Thread"
              + "|Monitor Deflati|Notification Th|Native Heap Tri|Signal Dispatch|Attach Listener"
              + "|Reference Handl|Finalizer|Common-Cleaner|VirtualThread-u|process reaper");

  private static final String METRICS_ADDRESS = "127.0.0.1";
  private static final int METRICS_PORT = 9964;
  private static final int CALLERS = 4;
  private static final Duration LONGEST = Duration.ofSeconds(60);

  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
        {"toCIDR": ["192.0.2.2/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
          "rules": {"dns": [{"matchPattern": "www.example.*"}]}}]},
        {"toFQDNs": [{"matchName": "www.example.com"}],
          "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}],
            "rules": {"http": [{"method": "GET"}]}}]}]}]
      """;

  @TempDir private static Path directory;
  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload client;
  private static final List<TestWorkload> RELABELLED = new ArrayList<>();
  private static final Set<Row> TABLE = new TreeSet<>();
  private static final Map<String, Set<String>> RUNNING = new TreeMap<>();

  /**
   * A thread of the table.
   *
   * @param name its name, in which an asterisk stands for any end, and PID for a number
   */
  private record Row(String process, String name) implements Comparable<Row> {
    boolean isOf(String thread) {
      final String start = name.replaceFirst("(\\*|PID)$", "");
      if (start.length() >= LONGEST_NAME) {
        return thread.equals(start.substring(0, LONGEST_NAME));
      }
      final String end = name.substring(start.length());
      return thread.startsWith(start)
          && switch (end) {
            case "*" -> thread.length() > start.length();
            case "PID" -> thread.substring(start.length()).matches("\\d+");
            default -> thread.equals(name);
          };
    }

    boolean isRunning() {
      return RUNNING.get(process).stream().anyMatch(this::isOf);
    }

    @Override
    public int compareTo(Row other) {
      return toString().compareTo(other.toString());
    }
  }

  @BeforeAll
  static void haveEveryPartWork() throws Exception {
    readTable();
    PROCESSES.get("both").forEach(process -> RUNNING.put(process, new TreeSet<>()));
    node = new TestNode();
    final NetworkNamespace world = WorldNetwork.connect(node);
    world.ip("route add 10.210.0.0/24 via 192.0.2.1");
    final NameServer names = NameServer.start(world, "192.0.2.2");
    node.keep(names);
    names.records("198.51.100.7 www.example.com");
    start();
    client = node.workload(agent, "client", "app=client");
    final TestWorkload removed = node.workload(agent, "removed", "app=removed");
    for (int i = 0; i < CALLERS; i++) {
      RELABELLED.add(node.workload(agent, "caller" + i, "app=caller"));
    }
    agent.expect(200, "PUT", "/policy", RULES);
    agent.expect(200, "PATCH", "/prefilter", "{\"deny\": [\"203.0.113.0/24\"]}");
    agent.expect(200, "DELETE", "/endpoint/" + removed.id(), null);
    final Path events = Path.of(MonitorStream.socketBeside(agent.socket().toString()));
    final MonitorClient subscriber = MonitorClient.open(events, MonitorStream.DROPS, LONGEST);
    node.keep(subscriber);
    watch();
  }

  private static void start() throws Exception {
    final Path servers =
        Files.writeString(directory.resolve("resolv.conf"), "nameserver 192.0.2.2\n");
    agent =
        node.launchWithResolverFile(
                servers,
                "--access-log=" + directory.resolve("access.log"),
                "--proxy-engine-log=" + directory.resolve("proxies.log"),
                "--prometheus-serve-addr=" + METRICS_ADDRESS + ":" + METRICS_PORT,
                "--tofqdns-enable-poller",
                "--masquerade",
                "--device=" + WorldNetwork.DEVICE,
                "--prefilter-device=" + WorldNetwork.DEVICE,
                "--prefilter-mode=generic")
            .ready();
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static void readTable() throws IOException {
    final List<String> lines = Files.readAllLines(README);
    final int head = lines.indexOf(HEAD);
    assertTrue(head >= 0, "README has no line " + HEAD);
    for (int i = head + 2; lines.get(i).startsWith("|"); i++) {
      final Matcher row = ROW.matcher(lines.get(i));
      assertTrue(row.matches() && PROCESSES.containsKey(row.group(2)), lines.get(i));
      final Matcher name = NAME.matcher(row.group(1));
      while (name.find()) {
        PROCESSES
            .get(row.group(2))
            .forEach(process -> assertTrue(TABLE.add(new Row(process, name.group(1)))));
      }
    }
  }

  /** Notes the threads until the table has no other, or a time has passed. */
  private static void watch() throws Exception {
    final long pid = agent.proxyPid();
    final long deadline = System.nanoTime() + LONGEST.toNanos();
    do {
      changeAtATime();
      look(agent.pid(), "agent");
      look(pid, "proxies");
      client.namespace().attempt("dig", "@192.0.2.2", "+tries=1", "+time=1", "www.example.com");
      agent.expect(200, "GET", "/metrics/", null);
      scrape();
    } while (!TABLE.stream().allMatch(Row::isRunning) && System.nanoTime() < deadline);
  }

  /** Changes different files of the state: those that wait for one share its next sync. */
  private static void changeAtATime() throws Exception {
    final List<OtherThread<?>> callers = new ArrayList<>();
    for (final TestWorkload workload : RELABELLED) {
      final String labels = "/endpoint/" + workload.id() + "/labels";
      callers.add(
          OtherThread.call(
              () -> {
                agent.expect(200, "PATCH", labels, "{\"user\": [\"some=label\"]}");
                agent.expect(200, "PATCH", labels, "{\"user\": []}");
                return null;
              }));
    }
    for (final OtherThread<?> caller : callers) {
      caller.result();
    }
  }

  private static void look(long pid, String process) throws IOException {
    final Path tasks = Path.of("/proc/" + pid + "/task");
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
      for (final Path thread : threads) {
        try {
          RUNNING.get(process).add(Files.readString(thread.resolve("comm")).strip());
        } catch (IOException hasEnded) {
          continue;
        }
      }
    }
  }

  private static void scrape() throws Exception {
    final InetAddress address = InetAddress.getByName(METRICS_ADDRESS);
    try (Socket socket = node.namespace().run(() -> new Socket(address, METRICS_PORT))) {
      socket.setSoTimeout((int) SECONDS.toMillis(10));
      final String request = "GET /metrics HTTP/1.0\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      final byte[] answer = socket.getInputStream().readAllBytes();
      assertTrue(answer.length > 1000, new String(answer, StandardCharsets.US_ASCII));
    }
  }

  @Test
  void shouldHaveEachThreadThatRuns() {
    final List<String> lacking = new ArrayList<>();
    RUNNING.forEach(
        (process, threads) ->
            threads.stream()
                .filter(thread -> !OF_THE_JVM.matcher(thread).matches())
                .filter(
                    thread ->
                        TABLE.stream()
                            .noneMatch(row -> row.process().equals(process) && row.isOf(thread)))
                .forEach(thread -> lacking.add(process + ": " + thread)));
    assertEquals(List.of(), lacking);
  }

  @Test
  void shouldHaveNoThreadThatDoesNotRun() {
    final List<Row> notRunning = TABLE.stream().filter(row -> !row.isRunning()).toList();
    assertEquals(List.of(), notRunning, RUNNING::toString);
  }
}
