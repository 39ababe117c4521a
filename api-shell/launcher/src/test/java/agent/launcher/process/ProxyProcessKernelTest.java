package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.EmulatedTime;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The process of the proxies: what it may do, and what happens where it or the agent ends. */
@KernelTest
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ProxyProcessKernelTest {
  private static final int PORT = 8080;
  private static final String USER = "1900000001";
  private static final long LONGEST_MS = 30_000;
  private static final Pattern PROCESS = Pattern.compile("pid (\\d+); user (\\d+); (.*)");
  private static final String RULE =
      """
      [{"labels": [{"key": "name", "value": "requests"}],
        "endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"toPorts": [
          {"ports": [{"port": "%d", "protocol": "TCP"}],
           "rules": {"http": [{"method": "GET", "path": "/public"}]}}]}]}]
      """
          .formatted(PORT);

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    agent = node.agent();
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(HttpOrigin.start(server.namespace(), PORT));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private String process() throws Exception {
    return agent.expect(200, "GET", "/debuginfo", null).json().at("/subsystem/proxies").asString();
  }

  private long pid() throws Exception {
    final String shown = process();
    final Matcher matcher = PROCESS.matcher(shown);
    assertTrue(matcher.matches(), shown);
    assertEquals(USER, matcher.group(2));
    assertEquals("capabilities none; no_new_privs set", matcher.group(3));
    return Long.parseLong(matcher.group(1));
  }

  private void assertServed() throws Exception {
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      try (KeptConnection connection = KeptConnection.open(client.namespace(), address, PORT)) {
        assertEquals(200, connection.request("GET /public"));
        assertEquals(403, connection.request("GET /secret"));
      }
    }
  }

  private static List<Path> list(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  private static String value(Path status, String name) throws IOException {
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith(name + ":"))
        .map(line -> line.substring(name.length() + 1).strip().replace('\t', ' '))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void shouldStartAProcessWithoutRightsWithTheFirstRuleThatNeedsAProxy() throws Exception {
    assertEquals("no process: no policy requires a proxy", process());
    agent.expect(200, "PUT", "/policy", RULE);
    assertServed();
    final Path proc = Path.of("/proc", Long.toString(pid()));
    final List<Path> threads = list(proc.resolve("task"));
    assertTrue(threads.size() > 5, threads.toString());
    final List<String> names = new ArrayList<>();
    for (final Path thread : threads) {
      final Path status = thread.resolve("status");
      if (!Files.exists(status)) {
        continue; // a thread of a compiler that has ended
      }
      names.add(value(status, "Name"));
      for (final String name : List.of("Uid", "Gid")) {
        assertEquals(String.join(" ", USER, USER, USER, USER), value(status, name));
      }
      assertEquals("", value(status, "Groups"));
      for (final String set : List.of("CapInh", "CapPrm", "CapEff", "CapAmb")) {
        assertEquals("0000000000000000", value(status, set), thread + " " + set);
      }
      assertEquals("1", value(status, "NoNewPrivs"));
    }
    assertTrue(names.contains("heap-return"), "memory goes back to the system: " + names);
    assertHoldsMapsForReadingAlone(proc);
    assertEquals("PATH", environment(proc));
  }

  private static String environment(Path proc) throws IOException {
    final List<String> names = new ArrayList<>();
    for (final String variable : Files.readString(proc.resolve("environ")).split("\0")) {
      names.add(variable.substring(0, variable.indexOf('=')));
    }
    names.remove("MALLOC_ARENA_MAX");
    return String.join(" ", names);
  }

  /**
   * No link, raw socket, file of the state or pin is open in it, and no program but the filters of
   * its own sockets, which look at what these get alone.
   */
  private void assertHoldsMapsForReadingAlone(Path proc) throws IOException {
    int maps = 0;
    int programs = 0;
    for (final Path descriptor : list(proc.resolve("fd"))) {
      final String target;
      try {
        target = Files.readSymbolicLink(descriptor).toString();
      } catch (IOException closed) {
        continue;
      }
      assertTrue(
          !target.startsWith("anon_inode:bpf_link")
              && !target.startsWith(node.state().toString())
              && !target.startsWith(node.bpfRoot().toString()),
          target);
      if (target.startsWith("anon_inode:bpf-prog")) {
        programs++;
        final Path info = proc.resolve("fdinfo").resolve(descriptor.getFileName());
        assertEquals("1", value(info, "prog_type"), "BPF_PROG_TYPE_SOCKET_FILTER");
      }
      if (target.startsWith("anon_inode:bpf-map")) {
        maps++;
        final Path info = proc.resolve("fdinfo").resolve(descriptor.getFileName());
        assertEquals(0, Integer.parseInt(value(info, "flags"), 8) & 3, "O_RDONLY");
      }
    }
    assertEquals(8, maps);
    assertEquals(2, programs);
  }

  @Test
  void shouldHaveTheKernelRefuseWhatOnlyTheAgentMayDo() throws Exception {
    agent.expect(200, "PUT", "/policy", RULE);
    assertServed();
    assertEquals(WithoutRights.EXPECTED, WithoutRights.run(node, agent));
  }

  @Test
  void shouldStartAnotherProcessWhereItIsKilledAndServeOn() throws Exception {
    agent.expect(200, "PUT", "/policy", RULE);
    assertServed();
    final double before = agent.metric("agent_proxy_requests_total");
    long pid = pid();
    for (int round = 0; round < 2; round++) {
      try (KeptConnection open = KeptConnection.open(client.namespace(), server.ipv4(), PORT)) {
        assertEquals(200, open.request("GET /public"));
        assertTrue(ProcessHandle.of(pid).orElseThrow().destroyForcibly());
        assertEnds(pid);
        assertEquals(-1, statusOf(open), "what was open ends");
      }
      final long next = awaitOther(pid);
      assertNotEquals(pid, next);
      pid = next;
      assertServed();
      agent.expect(200, "GET", "/endpoint", null);
    }
    assertTrue(agent.log().contains("the proxy process has ended"), agent.log());
    assertTrue(agent.metric("agent_proxy_requests_total") >= before, "counters do not go back");
    final String health = agent.expect(200, "GET", "/health", null).text();
    assertTrue(health.contains("serving [HTTP]"), health);
    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(200, "PUT", "/policy", RULE.replace("/public", "/other"));
    try (KeptConnection changed = KeptConnection.open(client.namespace(), server.ipv4(), PORT)) {
      assertEquals(403, changed.request("GET /public"), "the new process follows the rules");
    }
  }

  /** No rule changes, and nothing is asked of it. */
  @Test
  void shouldStartAnotherProcessWhereItDoesNotAnswer() throws Exception {
    final long answerMs = EmulatedTime.of(Duration.ofSeconds(3)).toMillis();
    assertEquals(0, agent.terminate());
    agent = node.agentWith("agent.proxies.answerMs=" + answerMs);
    agent.expect(200, "PUT", "/policy", RULE);
    assertServed();
    final long pid = pid();
    Commands.run("kill", "-STOP", Long.toString(pid));
    assertEnds(pid);
    assertNotEquals(pid, awaitOther(pid));
    assertServed();
    final String reason = "no answer for " + answerMs + " ms";
    assertTrue(agent.log().contains("the proxy process has ended: " + reason), agent.log());
  }

  private static int statusOf(KeptConnection connection) {
    try {
      return connection.request("GET /public");
    } catch (IOException ended) {
      return -1;
    }
  }

  private long awaitOther(long former) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_MS);
    while (System.nanoTime() < deadline) {
      final Matcher matcher = PROCESS.matcher(process());
      if (matcher.matches() && Long.parseLong(matcher.group(1)) != former) {
        return Long.parseLong(matcher.group(1));
      }
      Thread.sleep(20);
    }
    throw new AssertionError("no other process: " + process() + "\n" + agent.log());
  }

  /** One that is a zombie has ended. */
  private static void assertEnds(long pid) throws Exception {
    final Path status = Path.of("/proc", Long.toString(pid), "status");
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_MS);
    while (System.nanoTime() < deadline) {
      try {
        if (value(status, "State").startsWith("Z")) {
          return;
        }
      } catch (IOException gone) {
        return;
      }
      Thread.sleep(20);
    }
    throw new AssertionError("process " + pid + " goes on");
  }

  @Test
  void shouldEndWithTheAgentHoweverThatEnds() throws Exception {
    agent.expect(200, "PUT", "/policy", RULE);
    final long first = pid();
    agent.kill();
    assertEnds(first);
    agent = node.agent();
    assertServed();
    final long second = pid();
    assertEquals(0, agent.terminate());
    assertEnds(second);
  }
}
