package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** What cannot be read at the start closes, it does not open. */
@KernelTest
class AgentUnreadableStateKernelTest {
  private static final int PORT = 8080;
  private static final String OUTSIDE = "198.51.100.9";
  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "backend"}},
        "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "frontend"}}]}]}]
      """;

  private TestNode node;
  private AgentProcess agent;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private String refused(int status, String method, String path, String body, Path file)
      throws Exception {
    final String text = agent.expect(status, method, path, body).text();
    assertTrue(text.contains(file + " cannot be read ("), text);
    assertFalse(text.contains("Exception") || text.contains("java"), text);
    return text;
  }

  private void assertFailure(Path file) throws Exception {
    final JsonNode health = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Failure", health.get("state").asString(), health.toString());
    assertTrue(health.get("msg").asString().contains(file.toString()), health.toString());
  }

  private void assertHealthy() throws Exception {
    final JsonNode health = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Ok", health.get("state").asString(), health.toString());
  }

  private static void assertReached(
      boolean isReached, NetworkNamespace from, String address, String how) {
    assertEquals(
        isReached ? TcpConnection.Outcome.CONNECTED : TcpConnection.Outcome.UNANSWERED,
        TcpConnection.attempt(from, address, PORT, isReached ? 5000 : 400),
        how);
  }

  @Test
  void shouldEnforceThePinnedListWhateverIsInTheStoredListsPlace() throws Exception {
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().exec("ip", "address", "add", "198.51.100.1/24", "dev", "ext0");
    outside.exec("ip", "address", "add", OUTSIDE + "/24", "dev", "eth0");
    node.keep(TcpEchoServer.start(node.namespace(), PORT));
    final String[] options = {"--prefilter-device", "ext0", "--prefilter-mode", "generic"};
    agent = node.agent(options);
    assertReached(true, outside, "198.51.100.1", "before");
    final String deny = "{\"deny\": [\"" + OUTSIDE + "/32\"]}";
    agent.expect(200, "PATCH", "/prefilter", deny);
    final Path file = node.state().resolve("prefilter/list.json");
    final byte[] content = Files.readAllBytes(file);
    for (final String way : List.of("removed", "an empty object", "a directory")) {
      agent.kill();
      StateFiles.clear(file);
      StateFiles.all("prefilter").get(way).to(file, content);
      agent = node.agent(options);
      assertReached(false, outside, "198.51.100.1", way);
      refused(500, "PATCH", "/prefilter", "{\"deny\": [\"192.0.2.0/24\"]}", file);
      refused(500, "DELETE", "/prefilter", deny, file);
      assertEquals(
          OUTSIDE + "/32",
          agent.expect(200, "GET", "/prefilter", null).json().at("/spec/deny/0").asString());
      assertFailure(file);
      assertReached(false, outside, "198.51.100.1", way);
    }
    agent.kill();
    StateFiles.clear(file);
    Files.write(file, content);
    agent = node.agent(options);
    assertHealthy();
    agent.expect(200, "DELETE", "/prefilter", deny);
    assertReached(true, outside, "198.51.100.1", "restored");
  }

  @Test
  void shouldEnforceThePinnedPoliciesWhileTheRulesCannotBeRead() throws Exception {
    agent = node.agent();
    final TestWorkload frontend = node.workload(agent, "frontend", "app=frontend");
    final TestWorkload backend = node.workload(agent, "backend", "app=backend");
    final TestWorkload stranger = node.workload(agent, "stranger", "app=stranger");
    node.keep(TcpEchoServer.start(backend.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    final Path file = node.state().resolve("policy/rules.json");
    final Path copy = node.state().resolve("policy/rules-copy.json");
    final byte[] content = Files.readAllBytes(file);
    for (final Map.Entry<String, StateFiles.Damage> damage : StateFiles.all("policy").entrySet()) {
      final String way = damage.getKey();
      agent.kill();
      StateFiles.clear(file);
      StateFiles.clear(copy);
      damage.getValue().to(file, content);
      damage.getValue().to(copy, content);
      agent = node.agent();
      assertReached(false, stranger.namespace(), backend.ipv4(), way);
      assertReached(false, stranger.namespace(), backend.ipv6(), way);
      assertReached(true, frontend.namespace(), backend.ipv4(), way);
      refused(500, "PUT", "/policy", RULES, file);
      refused(500, "DELETE", "/policy", "[\"name=x\"]", file);
      final String text = refused(500, "GET", "/policy", null, file);
      assertTrue(text.contains("delete all rules"), text);
      assertFailure(file);
    }

    final TestWorkload late = node.workload(agent, "late", "app=frontend");
    assertReached(false, late.namespace(), backend.ipv4(), "a new endpoint is closed");

    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(200, "PUT", "/policy", RULES);
    assertHealthy();
    for (int start = 0; start < 2; start++) {
      assertReached(true, frontend.namespace(), backend.ipv4(), "with rules");
      assertReached(true, late.namespace(), backend.ipv4(), "with rules");
      assertReached(false, stranger.namespace(), backend.ipv4(), "with rules");
      agent.kill();
      agent = node.agent();
    }
    assertTrue(Files.isSymbolicLink(file.resolveSibling("rules.json.corrupt-1")));
  }

  /** Nothing is left in the kernel, as after a reboot, or no program; and the rules are gone. */
  @ParameterizedTest
  @ValueSource(strings = {"all", "to_endpoint", "from_endpoint"})
  void shouldCloseWorkloadsWhoseRulesAreMissingAndThatTheKernelHasNoPolicyOf(String lost)
      throws Exception {
    agent = node.agent();
    final TestWorkload frontend = node.workload(agent, "frontend", "app=frontend");
    final TestWorkload backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), PORT));
    node.keep(TcpEchoServer.start(frontend.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    assertReached(true, frontend.namespace(), backend.ipv4(), "before");
    agent.kill();
    for (final Path pin : PinnedObjects.pins(node.bpfRoot().resolve("agent"))) {
      if (lost.equals("all") || pin.endsWith(lost)) {
        Files.delete(pin);
      }
    }
    Files.delete(node.state().resolve("policy/rules.json"));
    Files.deleteIfExists(node.state().resolve("policy/rules-copy.json"));
    for (int start = 0; start < 2; start++) {
      agent = node.agent();
      assertFailure(node.state().resolve("policy/rules.json"));
      assertReached(false, frontend.namespace(), backend.ipv4(), "closed");
      assertReached(false, frontend.namespace(), backend.ipv6(), "closed");
      assertReached(false, backend.namespace(), frontend.ipv4(), "closed");
      assertReached(false, backend.namespace(), frontend.ipv6(), "closed");
      agent.kill();
    }
    agent = node.agent();
    agent.expect(200, "PUT", "/policy?replace=true", RULES);
    assertHealthy();
    assertReached(true, frontend.namespace(), backend.ipv4(), "with rules");
    assertReached(true, frontend.namespace(), backend.ipv6(), "with rules");
    assertReached(true, backend.namespace(), frontend.ipv4(), "with rules");
  }

  /** The names go with the files that they prove, or all that there is but the kernel. */
  @ParameterizedTest
  @ValueSource(strings = {"policy,written", "endpoints,written", "all"})
  void shouldOpenNothingWhereFoldersAreGoneWithTheNamesOfTheirFiles(String gone) throws Exception {
    agent = node.agent();
    final TestWorkload stranger = node.workload(agent, "stranger", "app=stranger");
    final TestWorkload backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    assertReached(false, stranger.namespace(), backend.ipv4(), "before");
    agent.terminate();
    final List<String> names =
        gone.equals("all")
            ? List.of(
                "agent.lock",
                "written",
                "policy",
                "endpoints",
                "ipam",
                "node",
                "configuration",
                "names",
                "prefilter",
                "services",
                "service-batches")
            : List.of(gone.split(","));
    final Path moved = Files.createDirectory(node.state().resolve("moved"));
    for (final String name : names) {
      Files.move(node.state().resolve(name), moved.resolve(name));
    }
    for (int start = 0; start < 2; start++) {
      agent = node.agent();
      assertReached(false, stranger.namespace(), backend.ipv4(), gone);
      assertReached(false, stranger.namespace(), backend.ipv6(), gone);
      if (!gone.startsWith("endpoints")) {
        assertFailure(node.state().resolve("policy/rules.json"));
      }
      if (!gone.startsWith("policy")) {
        assertFailure(node.state().resolve("endpoints/" + backend.id() + ".json"));
        assertFalse(agent.log().contains("no longer exists"), agent.log());
      }
      assertTrue(agent.log().contains("cannot be read (it is missing"), agent.log());
      agent.terminate();
    }
  }

  /** An enforcement that was set while the agent ran does not end with its file. */
  @ParameterizedTest
  @ValueSource(strings = {"daemon.json", "damaged", "names"})
  void shouldEnforceWhereTheStoredConfigurationIsLost(String way) throws Exception {
    agent = node.agent();
    final TestWorkload client = node.workload(agent, "client", "app=client");
    final TestWorkload server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(server.namespace(), PORT));
    assertReached(true, client.namespace(), server.ipv4(), "before");
    agent.expect(200, "PATCH", "/config", "{\"policy-enforcement\": \"always\"}");
    assertReached(false, client.namespace(), server.ipv4(), "enforced");
    agent.terminate();
    final Path file = node.state().resolve("configuration/daemon.json");
    if (way.equals("damaged")) {
      Files.writeString(file, "x");
    } else {
      Files.delete(file);
    }
    if (way.equals("names")) {
      Files.move(node.state().resolve("written"), node.state().resolve("moved"));
    }
    for (int start = 0; start < 2; start++) {
      agent = node.agent();
      assertReached(false, client.namespace(), server.ipv4(), way);
      assertReached(false, client.namespace(), server.ipv6(), way);
      assertFailure(file);
      agent.terminate();
    }
    agent = node.agent();
    if (way.equals("names")) {
      agent.expect(200, "DELETE", "/policy", null); // whether there were rules is not known
    }
    agent.expect(
        200,
        "PATCH",
        "/config",
        "{\"policy-enforcement\": \"default\", \"options\": {\"Conntrack\": \"Enabled\"}}");
    assertReached(true, client.namespace(), server.ipv4(), "set again");
    if (!way.equals("names")) {
      assertHealthy();
    }
  }

  @Test
  void shouldTellThatTheStateDirectoryWasRemovedWithoutAChange() throws Exception {
    agent = node.agent();
    final TestWorkload stranger = node.workload(agent, "stranger", "app=stranger");
    final TestWorkload backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    final Path moved = Files.createDirectory(node.state().resolve("moved"));
    final Path rules = node.state().resolve("policy/rules.json");
    final Path movedRules = node.state().resolve("moved-rules");
    Files.move(rules, movedRules);
    awaitFailure(rules);
    Files.move(movedRules, rules);
    awaitHealthy();
    final List<String> all =
        List.of("agent.lock", "policy", "endpoints", "ipam", "node", "written");
    for (final String one : all) {
      Files.move(node.state().resolve(one), moved.resolve(one));
    }
    awaitFailure(node.state());
    assertReached(false, stranger.namespace(), backend.ipv4(), "the kernel has the policy");
    for (final String one : all) {
      Files.move(moved.resolve(one), node.state().resolve(one));
    }
    awaitHealthy();
  }

  /** A removal is reported within seconds. */
  private void awaitFailure(Path file) throws Exception {
    final long deadline = System.nanoTime() + 5_000_000_000L;
    while (!state().equals("Failure") && System.nanoTime() < deadline) {
      Thread.sleep(50);
    }
    assertFailure(file);
  }

  private void awaitHealthy() throws Exception {
    final long deadline = System.nanoTime() + 5_000_000_000L;
    while (!state().equals("Ok") && System.nanoTime() < deadline) {
      Thread.sleep(50);
    }
    assertHealthy();
  }

  private String state() throws Exception {
    return agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString();
  }

  /** A newer release wrote the rules, and its copy is of another time. */
  @Test
  void shouldUseNoCopyBesideRulesOfANewerFormat() throws Exception {
    agent = node.agent();
    final TestWorkload stranger = node.workload(agent, "stranger", "app=stranger");
    final TestWorkload backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    final Path file = node.state().resolve("policy/rules.json");
    final Path copy = node.state().resolve("policy/rules-copy.json");
    final byte[] content = Files.readAllBytes(file);
    final byte[] newer = StateFiles.whole(2, "policy", StateFiles.document(content));
    agent.kill();
    StateFiles.clear(file);
    StateFiles.clear(copy);
    Files.write(file, newer);
    Files.write(copy, content);
    for (int start = 0; start < 2; start++) {
      agent = node.agent();
      assertReached(false, stranger.namespace(), backend.ipv4(), "the policy of the kernel");
      refused(500, "PUT", "/policy", RULES, file);
      assertFailure(file);
      assertArrayEquals(newer, Files.readAllBytes(file));
      assertArrayEquals(content, Files.readAllBytes(copy));
      agent.kill();
    }
  }

  @Test
  void shouldUseAGoodCopyOfTheRulesAndRepairTheOtherFile() throws Exception {
    agent = node.agent();
    final TestWorkload stranger = node.workload(agent, "stranger", "app=stranger");
    final TestWorkload backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    final JsonNode rules = agent.expect(200, "GET", "/policy", null).json();
    final Path file = node.state().resolve("policy/rules.json");
    final byte[] content = Files.readAllBytes(file);
    final Path copy = node.state().resolve("policy/rules-copy.json");
    for (final String way : List.of("an empty object", "a value that is not valid")) {
      agent.kill();
      StateFiles.clear(file);
      StateFiles.all("policy").get(way).to(file, content);
      agent = node.agent();
      assertReached(false, stranger.namespace(), backend.ipv4(), way);
      assertEquals(rules, agent.expect(200, "GET", "/policy", null).json());
      assertArrayEquals(content, Files.readAllBytes(file));
      assertArrayEquals(content, Files.readAllBytes(copy), "the copy is kept");
      assertTrue(agent.log().contains("the rules were read from the copy"), agent.log());
      assertHealthy();
    }
  }

  @Test
  void shouldKeepAnEndpointClosedWhoseFileIsDamagedUntilItIsDeleted() throws Exception {
    agent = node.agent();
    final TestWorkload client = node.workload(agent, "client", "app=client");
    final TestWorkload server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(client.namespace(), PORT));
    node.keep(TcpEchoServer.start(server.namespace(), PORT));
    assertReached(true, client.namespace(), server.ipv4(), "before");
    final Path file = node.state().resolve("endpoints/" + server.id() + ".json");
    final byte[] content = Files.readAllBytes(file);
    agent.kill();
    content[content.length - 5] ^= 1;
    final Map<Path, Integer> pins = PinnedObjects.below(node.bpfRoot()).ids();
    for (final boolean isMissing : new boolean[] {false, true}) {
      if (isMissing) {
        Files.delete(file);
      } else {
        Files.write(file, content);
      }
      agent = node.agent();
      final JsonNode listed =
          agent.expect(200, "GET", "/endpoint/" + server.id(), null).json().get("status");
      assertEquals("invalid", listed.get("state").asString());
      assertEquals(
          server.ipv4(), listed.at("/networking/addressing/0/ipv4").asString(), listed.toString());
      assertEquals(pins, PinnedObjects.below(node.bpfRoot()).ids());
      assertReached(false, client.namespace(), server.ipv4(), "closed");
      assertReached(false, server.namespace(), client.ipv4(), "closed");
      assertFailure(file);
      assertTrue(agent.log().contains("endpoint " + server.id() + ": the record in " + file));
      agent.expect(409, "POST", "/ipam/" + server.ipv4(), null);
      agent.kill();
    }
    agent = node.agent();
    agent.expect(200, "DELETE", "/endpoint/" + server.id(), null);
    assertHealthy();
    agent.expect(404, "GET", "/endpoint/" + server.id(), null);
    assertTrue(Files.notExists(file));
    assertTrue(
        PinnedObjects.below(node.bpfRoot()).ids().size() < pins.size(), "its pins are removed");
    agent.expect(200, "POST", "/ipam/" + server.ipv4(), null);
  }

  @Test
  void shouldGiveNoAddressOutWhileTheLeasesCannotBeRead() throws Exception {
    agent = node.agent();
    final TestWorkload workload = node.workload(agent, "workload", "app=a");
    agent.expect(201, "POST", "/ipam?family=ipv4", null);
    final Path file = node.state().resolve("ipam/leases.json");
    final byte[] content = Files.readAllBytes(file);
    agent.kill();
    Files.write(file, StateFiles.whole(1, "leases", "{}"));
    for (int start = 0; start < 2; start++) {
      agent = node.agent();
      refused(500, "POST", "/ipam", null, file);
      refused(500, "POST", "/ipam/10.210.0.77", null, file);
      refused(500, "DELETE", "/ipam/10.210.0.77", null, file);
      assertFailure(file);
      assertEquals(
          "ready",
          agent
              .expect(200, "GET", "/endpoint/" + workload.id(), null)
              .json()
              .at("/status/state")
              .asString());
      agent.kill();
    }
    Files.write(file, content);
    agent = node.agent();
    agent.expect(201, "POST", "/ipam", null);
    assertHealthy();
  }

  @Test
  void shouldNotStartWithOtherAddressRangesThanThoseThatCannotBeRead() throws Exception {
    agent = node.agent();
    agent.terminate();
    final Path file = node.state().resolve("node/node.json");
    Files.write(file, StateFiles.whole(1, "node", "{}"));
    agent = node.launch();
    assertEquals(1, agent.exitCode());
    assertTrue(agent.log().contains(file + " cannot be read ($.ipv4Range: is missing)"));
    assertArrayEquals(StateFiles.whole(1, "node", "{}"), Files.readAllBytes(file));
  }
}
