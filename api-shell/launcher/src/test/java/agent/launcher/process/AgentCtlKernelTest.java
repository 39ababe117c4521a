package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.process.CtlProcess.Outcome;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** agentctl as a process, with an agent that runs, that is stopped, and that is gone. */
@KernelTest
class AgentCtlKernelTest {
  private static final String RULES =
      """
      apiVersion: example.io/v2
      kind: SomeNetworkPolicy
      metadata: {name: web}
      spec:
        endpointSelector: {matchLabels: {app: web}}
        ingress:
          - fromEntities: [host]
            toPorts: [{ports: [{port: 80, protocol: TCP}]}]
      """;

  private static final String FROM_CLIENT =
      """
      [{"endpointSelector": {"matchLabels": {"app": "web"}},
        "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "client"}}],
          "toPorts": [{"ports": [{"port": "80", "protocol": "TCP"}]}]}]}]
      """;

  @TempDir private Path directory;

  private Outcome run(String... words) throws Exception {
    return CtlProcess.run(directory, words);
  }

  private String output(AgentProcess agent, String line) throws Exception {
    final List<String> words = new ArrayList<>(List.of(line.split(" ")));
    words.addAll(List.of("--host", "unix://" + agent.socket()));
    final Outcome outcome = run(words.toArray(String[]::new));
    assertEquals(0, outcome.exitCode(), line + ": " + outcome.err());
    return outcome.out();
  }

  @Test
  void shouldControlARunningAgent() throws Exception {
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent();
      final TestWorkload web = node.workload(agent, "web", "app=web");
      final Path rules = Files.writeString(directory.resolve("rules.yaml"), RULES);
      assertTrue(output(agent, "policy validate " + rules).endsWith(": 1 rule is valid\n"));
      output(agent, "policy import " + rules);
      final String kept = output(agent, "policy get -o yaml");
      assertTrue(kept.contains("io.agent.orch.policy.name"), kept);
      output(agent, "policy delete orch:io.agent.orch.policy.name=web");
      assertEquals("[]\n", output(agent, "policy get"));
      final Path copy = Files.writeString(directory.resolve("copy.yaml"), kept);
      output(agent, "policy import " + copy);
      assertEquals(kept, output(agent, "policy get -o yaml"), "rules are taken as they are given");
      final String list = output(agent, "endpoint list");
      assertTrue(list.contains(web.ipv4()) && list.contains("app=web"), list);
      assertEquals(web.id() + "\n", output(agent, "endpoint list -o jsonpath=.[*].id"));
      assertTrue(output(agent, "endpoint log " + web.id()).contains("ready"));
      assertTrue(output(agent, "status").contains("agent"), "status");
      assertTrue(output(agent, "map get endpoints --filter endpoint -o csv").lines().count() > 1);
      final String host = "unix://" + agent.socket();
      final Outcome candidates = run("complete", "--", "-H", host, "endpoint", "get", "");
      assertTrue(candidates.out().startsWith(web.id() + "\tunspec:app=web"), candidates.out());
      output(agent, "endpoint delete " + web.id());
      assertEquals("[]\n", output(agent, "endpoint list -o json"));
    }
  }

  @Test
  void shouldReadPinnedMapsWhileNoAgentRuns() throws Exception {
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent();
      final TestWorkload web = node.workload(agent, "web", "app=web");
      final Path rules = Files.writeString(directory.resolve("rules.yaml"), RULES);
      output(agent, "policy import " + rules);
      final List<String> ofAgent =
          keys(output(agent, "map get ipcache4 -o jsonpath=.cache[*].key"));
      final List<String> slots = keys(output(agent, "map get policies -o jsonpath=.cache[*].key"));
      final Set<String> served =
          new TreeSet<>(keys(output(agent, "map list -o jsonpath=.maps[*].name")));
      agent.kill();
      final String[] root = {"--bpf-root", node.bpfRoot().toString()};
      final Outcome list = run("bpf", "list", root[0], root[1], "-o", "jsonpath=.maps[*].name");
      assertEquals(0, list.exitCode(), list.err());
      final Set<String> pinned = new TreeSet<>(keys(list.out()));
      assertTrue(served.containsAll(pinned), served + " has not all of " + pinned);
      assertTrue(pinned.containsAll(Set.of("ipcache4", "endpoints", "conntrack4_tcp")), list.out());
      final Outcome entries =
          run("bpf", "get", "ipcache4", root[0], root[1], "-o", "jsonpath=.[*].key");
      assertEquals(new TreeSet<>(ofAgent), new TreeSet<>(keys(entries.out())), entries.err());
      assertTrue(entries.out().contains(web.ipv4()), entries.out());
      final Outcome occupied =
          run("bpf", "get", "policies", root[0], root[1], "-o", "jsonpath=.[*].key");
      assertFalse(slots.isEmpty());
      assertEquals(slots, keys(occupied.out()), occupied.err());
      final String policy =
          pinned.stream().filter(name -> name.startsWith("policy_")).findFirst().orElseThrow();
      final Outcome verdicts = run("bpf", "get", policy, root[0], root[1], "--filter", "TCP");
      assertTrue(verdicts.out().contains("allow"), verdicts.out() + verdicts.err());
      final Outcome none = run("bpf", "list", "--bpf-root", directory.toString());
      assertEquals(1, none.exitCode());
      assertEquals("Error: no agent has pinned maps under " + directory + "\n", none.err());
    }
  }

  private static List<String> keys(String lines) {
    return lines.lines().toList();
  }

  /** A process that is stopped accepts connections by the kernel, and answers none. */
  @Test
  void shouldEndInTimeWhereTheAgentIsStopped() throws Exception {
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent();
      agent.suspend();
      try {
        final Outcome outcome =
            run("endpoint", "list", "--timeout", "1s", "-H", "unix://" + agent.socket());
        assertEquals(1, outcome.exitCode());
        assertEquals("Error: the agent did not answer within 1 s\n", outcome.err());
        assertEquals("", outcome.out());
      } finally {
        agent.resume();
      }
    }
  }

  @Test
  void shouldCollectAReportOfARunningAgent() throws Exception {
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent();
      final TestWorkload web = node.workload(agent, "web", "app=web");
      final Path archive = directory.resolve("report.zip");
      output(agent, "bugtool " + archive);
      final String names = namesIn(archive);
      for (final String name :
          List.of(
              "agent/healthz.json",
              "agent/observe.txt",
              "agent/policy.json",
              "agent/endpoint-" + web.id() + "-log.json",
              "maps/ipcache4.txt",
              "node/bpftool-map.txt")) {
        assertTrue(names.contains(name), name + " is not in " + names);
      }
      assertFalse(names.isEmpty());
    }
  }

  /**
   * dumpcap takes its copies before the programs see a packet. Those that a program hands to the
   * workload past the interface on the node are not there, so packets from the workload are
   * compared.
   */
  @Test
  void shouldCaptureFromAnEndpointWhatAnotherToolCaptures() throws Exception {
    final Path ours = directory.resolve("ours.pcapng");
    final Path theirs = directory.resolve("theirs.pcapng");
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent("--trace-payloadlen", "65535");
      final TestWorkload client = node.workload(agent, "client", "app=client");
      final TestWorkload web = node.workload(agent, "web", "app=web");
      node.keep(TcpEchoServer.start(web.namespace(), 80));
      output(agent, "policy import " + Files.writeString(directory.resolve("rules"), FROM_CLIENT));
      output(agent, "endpoint config " + client.id() + " TraceNotification=Enabled");
      try (Capture capture = Capture.start(node, client.veth().hostInterface(), theirs)) {
        final FutureTask<String> pcap =
            new FutureTask<>(
                () -> output(agent, "pcap -e " + client.id() + " --duration 10s -w " + ours));
        Thread.ofVirtual().start(pcap);
        Capture.awaitHeader(ours);
        for (final String address : List.of(web.ipv4(), web.ipv6())) {
          try (TcpConnection open = TcpConnection.open(client.namespace(), address, 80)) {
            assertTrue(open.exchangesMore(3, 5000));
          }
          TcpConnection.attempt(client.namespace(), address, 81, 300);
        }
        pcap.get(60, TimeUnit.SECONDS);
        assertTrue(capture.isRunning());
      }
      final List<String> packets = packetsFrom(client, ours);
      assertTrue(packets.size() >= 2 * (1 + 1 + 3 + 1 + 1), "" + packets);
      assertEquals(packetsFrom(client, theirs), packets);
      final List<String> dropped = Capture.packets(ours, "tcp.dstport == 81", "frame.comment");
      assertTrue(dropped.size() >= 2, "" + dropped);
      assertEquals(
          Set.of("dropped: policy-denied (ingress, endpoint " + web.id() + ")"),
          new TreeSet<>(dropped));
      assertEquals(
          List.of(), Capture.packets(ours, "frame.comment and tcp.dstport != 81", "frame.number"));
    }
  }

  private static List<String> packetsFrom(TestWorkload sender, Path file) {
    return Capture.packets(
        file,
        "tcp and (ip.src == %s or ipv6.src == %s)".formatted(sender.ipv4(), sender.ipv6()),
        "frame.len frame.cap_len eth.dst eth.src ip.id ip.ttl ip.dst ipv6.hlim ipv6.dst"
            + " tcp.srcport tcp.dstport tcp.seq_raw tcp.ack_raw tcp.flags tcp.checksum tcp.payload");
  }

  private static String namesIn(Path archive) throws IOException {
    try (java.util.zip.ZipFile zip =
        new java.util.zip.ZipFile(archive.toFile(), StandardCharsets.UTF_8)) {
      return String.join(" ", zip.stream().map(java.util.zip.ZipEntry::getName).toList());
    }
  }
}
