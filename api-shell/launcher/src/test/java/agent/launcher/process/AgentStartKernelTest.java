package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.LibBpf;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** How the daemon starts, refuses to start, and ends. */
@KernelTest
class AgentStartKernelTest {
  /** Those that no thread has. */
  private static final Set<String> MODULES =
      Set.of(
          "api-connections",
          "conntrack-shares",
          "conntrack-sweeps",
          "descriptors",
          "dp-drops",
          "dp-guard",
          "dp-maps",
          "dp-programs",
          "endpoints",
          "held-addresses",
          "host-routing",
          "kernel",
          "masquerade-ports",
          "masquerading",
          "monitor",
          "node",
          "node-addresses",
          "proxies",
          "restore",
          "service-sockets",
          "state");

  private TestNode node;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void closeNode() throws Exception {
    node.close();
  }

  @Test
  void shouldRefuseASecondAgentOnOneStateDirectoryWithOneLine() throws Exception {
    final AgentProcess first = node.agent();
    final AgentProcess second = node.launch();
    assertEquals(3, second.exitCode());
    assertEquals(1, second.log().lines().count(), second.log());
    assertTrue(
        second
            .log()
            .contains(
                "state directory "
                    + node.state()
                    + " is in use by another agent, process "
                    + first.pid()),
        second.log());
    first.expect(200, "GET", "/healthz", null);
  }

  @Test
  void shouldSayInOneLineThatLibbpfIsMissing() throws Exception {
    LibBpf.ensureLoaded();
    final AgentProcess agent = node.launchWithout(mapped("/libbpf.so"));
    assertEquals(1, agent.exitCode(), agent.log());
    assertEquals(1, agent.log().lines().count(), agent.log());
    assertTrue(agent.log().contains("libbpf is missing: libbpf.so.1 "), agent.log());
  }

  /** A server that is gone would delay the start until the resolver gives up. */
  @Test
  void shouldAskNoServerForTheNameOfTheNode() throws Exception {
    final Path hosts = Files.createFile(node.state().resolve("hosts"));
    final Path resolver = Files.createFile(node.state().resolve("resolv.conf"));
    Files.writeString(resolver, "nameserver 127.0.0.1\n");
    final DatagramSocket server =
        node.namespace().run(() -> new DatagramSocket(53, InetAddress.getLoopbackAddress()));
    try (server) {
      node.launchWith(Map.of(Path.of("/etc/hosts"), hosts, Path.of("/etc/resolv.conf"), resolver))
          .ready();
      server.setSoTimeout(1);
      final DatagramPacket question = new DatagramPacket(new byte[512], 512);
      assertThrows(
          SocketTimeoutException.class,
          () -> server.receive(question),
          () -> "asked: " + new String(question.getData(), StandardCharsets.ISO_8859_1));
    }
  }

  @Test
  void shouldEndWithZeroOnSigtermAndRemoveItsSocket() throws Exception {
    final AgentProcess agent = node.agent();
    assertTrue(Files.exists(agent.socket()));
    assertEquals(0, agent.terminate(), agent.log());
    assertFalse(Files.exists(agent.socket()));
  }

  @Test
  void shouldGiveItsSocketAndFilesTheModesOfTheContract() throws Exception {
    final AgentProcess agent = node.agent();
    node.workload(agent, "alone", "app=alone");
    assertEquals("rw-rw----", mode(agent.socket()));
    try (var files = Files.walk(node.state())) {
      files
          .filter(Files::isRegularFile)
          .forEach(file -> assertEquals("rw-------", mode(file), file.toString()));
    }
  }

  @Test
  void shouldNameTheDeviceThatIsNotThere() throws Exception {
    final AgentProcess agent = node.launch("--device", "nosuch0");
    assertEquals(2, agent.exitCode(), agent.log());
    assertTrue(agent.log().contains("--device: "), agent.log());
    assertTrue(agent.log().contains("nosuch0"), agent.log());
  }

  @Test
  void shouldNameAnAddressRangeThatIsNone() throws Exception {
    final AgentProcess agent = node.launch("--ipv4-range", "10.0.0.0/99");
    assertEquals(2, agent.exitCode(), agent.log());
    assertTrue(agent.log().contains("--ipv4-range: "), agent.log());
  }

  @Test
  void shouldNameAnAddressOfTheNodeThatNoInterfaceHas() throws Exception {
    for (final String[] option :
        new String[][] {{"--ipv4-node", "192.0.2.9"}, {"--ipv6-node", "2001:db8::9"}}) {
      final AgentProcess agent = node.launch(option);
      assertEquals(2, agent.exitCode(), agent.log());
      assertTrue(
          agent.log().contains(option[0] + ": no interface of this node has " + option[1]),
          agent.log());
    }
  }

  @Test
  void shouldNameARangeThatOverlapsTheNetworkOfADevice() throws Exception {
    node.namespace().ip("link add ext0 type veth peer name ext1");
    node.namespace().ip("address add 10.99.3.5/16 dev ext0");
    node.namespace().ip("address add fd00:99::5/64 dev ext0 nodad");
    for (final String[] option :
        new String[][] {{"--ipv4-range", "10.99.8.0/24"}, {"--ipv6-range", "fd00:99::/96"}}) {
      final AgentProcess agent = node.launch(option);
      assertEquals(2, agent.exitCode(), agent.log());
      assertTrue(
          agent.log().contains(option[0] + ": " + option[1] + " overlaps the network "),
          agent.log());
      assertTrue(agent.log().contains("of interface 'ext0'"), agent.log());
    }
    node.namespace().ip("link delete ext0");
    node.agent("--ipv4-range", "10.99.8.0/24").terminate();
    final AgentProcess agent = node.agent("--ipv4-range", "10.99.8.0/24", "--enable-ipv6=false");
    assertHasOneFamily(agent, "ipv4", "ipv6");
    agent.terminate();
  }

  /** An address of the family that is off is not given, nor has the node one. */
  static void assertHasOneFamily(AgentProcess agent, String family, String other) throws Exception {
    final JsonNode config =
        agent.expect(200, "GET", "/config", null).json().at("/status/addressing");
    assertTrue(config.at("/" + family + "/enabled").asBoolean(), config.toString());
    assertFalse(config.at("/" + other + "/enabled").asBoolean(), config.toString());
    final JsonNode given = agent.expect(201, "POST", "/ipam?owner=alone", null).json();
    assertTrue(given.at("/address").has(family), given.toString());
    assertFalse(given.at("/address").has(other), given.toString());
    assertFalse(given.has(other), given.toString());
  }

  @Test
  void shouldNameAGroupThatIsNotThere() throws Exception {
    final AgentProcess agent = node.launch("--socket-group", "no-such-group");
    assertEquals(2, agent.exitCode(), agent.log());
    assertTrue(
        agent.log().contains("--socket-group: group 'no-such-group' does not exist"), agent.log());
  }

  @Test
  void shouldKeepADamagedEndpointClosedAndLoseNothingElse() throws Exception {
    final AgentProcess first = node.agent();
    final TestWorkload kept = node.workload(first, "kept", "app=kept");
    final TestWorkload lost = node.workload(first, "lost", "app=lost");
    first.expect(
        200,
        "PUT",
        "/policy",
        "[{\"endpointSelector\": {}, \"ingress\":[{\"fromEntities\":[\"all\"]}]}]");
    assertEquals(0, first.terminate(), first.log());

    final Path damaged = node.state().resolve("endpoints/" + lost.id() + ".json");
    final byte[] content = Files.readAllBytes(damaged);
    Files.write(damaged, java.util.Arrays.copyOf(content, content.length / 2));
    final AgentProcess second = node.agent();
    assertTrue(second.log().contains(damaged + " cannot be read (truncated"), second.log());
    assertTrue(Files.exists(damaged));

    final JsonNode endpoints = second.expect(200, "GET", "/endpoint", null).json();
    assertEquals(2, endpoints.size());
    for (final JsonNode endpoint : endpoints) {
      assertEquals(
          endpoint.get("id").asInt() == kept.id() ? "ready" : "invalid",
          endpoint.get("status").get("state").asString());
    }
    final JsonNode health = second.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Failure", health.get("state").asString());
    assertTrue(health.get("msg").asString().contains(damaged.toString()), health.toString());
    assertTrue(node.namespace().exec("ip", "link", "show", "up").contains("wl-kept"));
    assertTrue(
        second
            .expect(200, "GET", "/policy", null)
            .json()
            .get("policy")
            .asString()
            .contains("endpointSelector"));
  }

  @Test
  void shouldStartWithEveryStateFileDamagedButThatOfTheNode() throws Exception {
    final AgentProcess first = node.agent();
    node.workload(first, "lost", "app=lost");
    first.expect(
        200,
        "PUT",
        "/policy",
        "[{\"endpointSelector\": {}, \"ingress\":[{\"fromEntities\":[\"all\"]}]}]");
    first.kill();
    final List<Path> files;
    try (var all = Files.walk(node.state())) {
      files =
          all.filter(file -> file.toString().endsWith(".json") && !file.endsWith("node.json"))
              .toList();
    }
    assertTrue(files.size() >= 3, files.toString());
    for (final Path file : files) {
      Files.writeString(file, "rubbish");
    }
    final AgentProcess second = node.agent();
    for (final Path file : files) {
      final boolean isNamed = second.log().contains(file.toString());
      assertTrue(isNamed || file.endsWith("rules-copy.json"), second.log());
    }
    final JsonNode endpoints = second.expect(200, "GET", "/endpoint", null).json();
    assertEquals(1, endpoints.size());
    assertEquals("invalid", endpoints.get(0).get("status").get("state").asString());
    second.expect(500, "GET", "/policy", null);
    assertEquals(
        "Failure",
        second.expect(200, "GET", "/healthz", null).json().get("agent").get("state").asString());
  }

  @Test
  void shouldDiscardTheStateOfThePreviousRunWithoutRestore() throws Exception {
    final AgentProcess first = node.agent();
    node.workload(first, "former", "app=former");
    assertEquals(0, first.terminate(), first.log());
    final AgentProcess second = node.agent("--restore=false");
    assertEquals(0, second.expect(200, "GET", "/endpoint", null).json().size());
  }

  @Test
  void shouldShowEveryThreadOfTheDatapathInHealthAndMetrics() throws Exception {
    final AgentProcess agent = node.agent();
    final Set<String> threads = Set.copyOf(agentThreads(agent.pid()));
    assertEquals(
        Set.of(
            "dp-conductor",
            "dp-loader",
            "ep-conductor",
            "dp-conntrack-gc",
            "dp-events",
            "dp-sockets",
            "dp-mirror",
            "names",
            "store"),
        threads);
    final Map<String, JsonNode> first = modules(agent);
    final Set<String> all = new TreeSet<>(threads);
    all.addAll(MODULES);
    assertEquals(List.copyOf(all), List.copyOf(first.keySet()));
    final Map<String, JsonNode> second = modules(agent);
    second.forEach(
        (name, module) -> {
          assertEquals("OK", module.get("level").asString(), module.toString());
          assertTrue(
              module.get("last-ok").asString().compareTo(first.get(name).get("last-ok").asString())
                  > 0,
              "last-ok is the time of the request: " + module);
        });
    final Map<String, Set<String>> agentsOf = new HashMap<>();
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      if (metric.at("/labels/agent").isString()) {
        agentsOf
            .computeIfAbsent(metric.get("name").asString(), name -> new HashSet<>())
            .add(metric.at("/labels/agent").asString());
      }
    }
    assertEquals(threads, agentsOf.get("agent_duty_cycle_seconds_bucket"));
    assertEquals(threads, agentsOf.get("agent_duty_cycle_seconds_count"));
    assertEquals(threads, agentsOf.get("agent_duty_cycle_stall_limit_seconds"));
  }

  private static Map<String, JsonNode> modules(AgentProcess agent) throws Exception {
    Thread.sleep(5); // the times have a resolution of 1 ms
    final Map<String, JsonNode> modules = new LinkedHashMap<>();
    for (final JsonNode module : agent.expect(200, "GET", "/health", null).json().get("modules")) {
      modules.put(module.get("module-id").asString(), module);
    }
    return modules;
  }

  /** The names of the threads of the process that run an agent. */
  private static List<String> agentThreads(long pid) throws Exception {
    final List<String> names = new ArrayList<>();
    try (var tasks = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
      for (final Path task : tasks) {
        try {
          final String name = Files.readString(task.resolve("comm")).strip();
          if (name.matches("dp-.*|ep-.*|names|store")) {
            names.add(name);
          }
        } catch (IOException ended) {
          continue; // a thread of the start, or of a compiler
        }
      }
    }
    return names;
  }

  /** The file that this process has mapped. */
  private static Path mapped(String part) throws IOException {
    try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
      return lines
          .filter(line -> line.contains(part))
          .map(line -> Path.of(line.substring(line.indexOf('/'))))
          .findFirst()
          .orElseThrow();
    }
  }

  private static String mode(Path file) {
    try {
      return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
