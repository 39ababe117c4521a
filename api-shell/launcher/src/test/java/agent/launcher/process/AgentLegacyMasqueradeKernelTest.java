package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Nftables;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * Where flows go through the stack, rules of the agent masquerade them: the network knows this node
 * alone, so that whatever is answered was sent with the address of the node.
 */
@KernelTest
class AgentLegacyMasqueradeKernelTest {
  private static final int PORT = 8080;
  private static final int UNANSWERED = 5353;
  private static final int LOOKUPS = 40;

  /** A search for one of the last free ports takes the kernel long. */
  private static final int ANSWERED_MS = 10_000;

  private static final int FIRST_PORT = 1024;
  private static final int ALL_PORTS = 65_536 - FIRST_PORT;
  private static final long REPAIR_NS = Duration.ofSeconds(10).toNanos();
  private static final List<String> NATIVE = List.of("198.51.100.2", "2001:db8:51::2");
  private static final String[] OPTIONS = {
    "--device=net0",
    "--host-routing=legacy",
    "--ipv4-native-routing-cidr=198.51.100.0/24",
    "--ipv6-native-routing-cidr=2001:db8:51::/64"
  };

  @TempDir Path programs;
  private TestNode node;
  private NetworkNamespace world;

  @BeforeEach
  void start() throws IOException {
    node = new TestNode();
    world = WorldNetwork.connect(node);
    world.ip("address add 198.51.100.2/32 dev lo");
    world.ip("-6 address add 2001:db8:51::2/128 dev lo nodad");
    node.namespace().ip("route add 198.51.100.0/24 via 192.0.2.2");
    node.namespace().ip("-6 route add 2001:db8:51::/64 via 2001:db8:2::2");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private static JsonNode masquerading(AgentProcess agent) throws IOException {
    return agent.expect(200, "GET", "/healthz", null).json().get("masquerading");
  }

  private static void assertMode(AgentProcess agent, String mode) throws IOException {
    final JsonNode status = masquerading(agent);
    final boolean isOn = !mode.equals("Disabled");
    assertEquals(mode, status.get("mode").asString(), agent.log());
    assertEquals(isOn, status.get("enabled").asBoolean());
    assertEquals(isOn, status.at("/enabledProtocols/ipv6").asBoolean());
    final JsonNode config = agent.expect(200, "GET", "/config", null).json().get("status");
    assertEquals(isOn, config.get("masquerade").asBoolean());
    assertEquals(
        List.of("nftables", "iptables").contains(mode),
        config.at("/daemonConfigurationMap/install-iptables-rules").asBoolean());
  }

  private static void awaitMode(AgentProcess agent, String mode) throws IOException {
    final long startNs = System.nanoTime();
    while (!masquerading(agent).get("mode").asString().equals(mode)) {
      assertTrue(System.nanoTime() - startNs < REPAIR_NS, () -> "not " + mode);
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  /** Waits until the health module has the level, and returns its message. */
  private static String awaitHealth(AgentProcess agent, String level) throws IOException {
    final long startNs = System.nanoTime();
    while (true) {
      final JsonNode health = agent.expect(200, "GET", "/health", null).json();
      for (final JsonNode module : health.get("modules")) {
        if (module.get("module-id").asString().equals("masquerading")
            && module.get("level").asString().equals(level)) {
          return module.get("message").asString();
        }
      }
      assertTrue(System.nanoTime() - startNs < REPAIR_NS, () -> "not " + level + ": " + health);
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  private static boolean reaches(TestWorkload client, String address, int withinMs) {
    return TcpConnection.attempt(client.namespace(), address, PORT, withinMs)
        == TcpConnection.Outcome.CONNECTED;
  }

  private void assertReachesTheWorld(TestWorkload client) throws Exception {
    for (final String address : WorldNetwork.ADDRESSES) {
      try (UdpEchoServer udp = UdpEchoServer.start(world, address, PORT)) {
        assertTrue(reaches(client, address, 5000), address);
        assertTrue(UdpStream.isAnswered(client.namespace(), address, PORT, 3000), address);
        assertEquals(1, udp.datagrams());
      }
      client.namespace().exec("ping", "-c", "1", "-W", "5", address);
    }
  }

  /** The world answers workloads only once it has a route to them. */
  private void assertSendsItsOwnAddressToTheNativeRange(TestWorkload client) {
    for (final String address : NATIVE) {
      assertFalse(reaches(client, address, 300), address);
    }
    world.ip("route add 10.210.0.0/24 via 192.0.2.1");
    world.ip("-6 route add fd00:210::/96 via 2001:db8:2::1");
    for (final String address : NATIVE) {
      assertTrue(reaches(client, address, 5000), address);
    }
    world.ip("route del 10.210.0.0/24");
    world.ip("-6 route del fd00:210::/96");
  }

  private void assertMends(AgentProcess agent, String what, int repairs) throws Exception {
    final String message = awaitHealth(agent, "Degraded");
    assertTrue(message.contains(what) && message.contains("installed again"), message);
    awaitHealth(agent, "OK");
    final String metrics = agent.expect(200, "GET", "/metrics/", null).text();
    final String counter = "{\"kind\":\"netfilter\"},\"name\":\"agent_repairs_total\",\"value\":";
    assertTrue(metrics.contains(counter + repairs + ".0"), metrics);
    assertTrue(agent.log().contains(message), agent.log());
  }

  private AgentProcess.Ended cleanup() throws Exception {
    final AgentProcess.Ended ended =
        AgentProcess.run(
            node.namespace(),
            "",
            "cleanup",
            "--force",
            "--state-dir=" + node.state(),
            "--bpf-root=" + node.bpfRoot(),
            "--lib-dir=" + node.state().resolve("lib"));
    Files.createDirectories(node.state()); // for the end of the test
    return ended;
  }

  private String ruleset() {
    return node.namespace().exec("nft", "-t", "-s", "list", "ruleset");
  }

  @Test
  void shouldMasqueradeByNftablesAndKeepItsRules() throws Exception {
    final AgentProcess agent = node.agent(OPTIONS);
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final TestWorkload bob = node.workload(agent, "bob", "app=bob");
    assertMode(agent, "nftables");
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT);
        TcpEchoServer local = TcpEchoServer.start(bob.namespace(), PORT)) {
      assertReachesTheWorld(alice);
      assertSendsItsOwnAddressToTheNativeRange(alice);
      assertTrue(reaches(alice, bob.ipv4(), 5000) && reaches(alice, bob.ipv6(), 5000));
      final String rules = ruleset();
      node.namespace().exec("nft", "flush", "ruleset");
      assertMends(agent, "removed", 1);
      assertEquals(rules, ruleset());
      node.namespace().exec("nft", "flush chain inet agent_masquerade postrouting");
      assertMends(agent, "changed", 2);
      assertEquals(rules, ruleset());
      assertReachesTheWorld(alice);
      try (TcpConnection ipv4 =
              TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(0), PORT);
          TcpConnection ipv6 =
              TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(1), PORT)) {
        agent.kill();
        assertTrue(ipv4.exchangesMore(10, 5000) && ipv6.exchangesMore(10, 5000), "alone");
        assertTrue(
            reaches(alice, WorldNetwork.ADDRESSES.get(0), 5000), "a new one without the agent");
        final AgentProcess next = node.agent(OPTIONS);
        assertTrue(ipv4.exchangesMore(20, 5000) && ipv6.exchangesMore(20, 5000), "next agent");
        assertMode(next, "nftables");
        assertEquals(rules, ruleset());
        next.kill();
      }
      assertTrue(server.connections() > 0 && local.connections() == 2);
    }
    final AgentProcess.Ended ended = cleanup();
    assertTrue(ended.output().contains("masquerading rules of nftables"), ended.output());
    assertEquals("", ruleset());
  }

  /** Sends datagrams from as many ports of a workload, at first from those of sockets. */
  private static void flood(TestWorkload from, String address, int ports) throws Exception {
    from.namespace()
        .run(
            () -> {
              for (int i = 0; i < ports; i++) {
                try (DatagramSocket socket =
                    new DatagramSocket(FIRST_PORT + (i + ALL_PORTS / 2) % ALL_PORTS)) {
                  final byte[] junk = {1};
                  socket.send(
                      new DatagramPacket(junk, 1, InetAddress.ofLiteral(address), UNANSWERED));
                }
              }
              return null;
            });
  }

  private static int answered(NetworkNamespace from, String address) throws Exception {
    int answered = 0;
    for (int i = 0; i < LOOKUPS; i++) {
      answered += UdpStream.isAnswered(from, address, UNANSWERED, ANSWERED_MS) ? 1 : 0;
    }
    return answered;
  }

  private void assertAnswersAll(NetworkNamespace from, String address) throws Exception {
    try (UdpEchoServer udp = UdpEchoServer.start(world, address, UNANSWERED)) {
      assertEquals(LOOKUPS, answered(from, address));
      assertEquals(LOOKUPS, udp.datagrams());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void shouldLeavePortsToOtherWorkloads(int family) throws Exception {
    final String address = WorldNetwork.ADDRESSES.get(family);
    final AgentProcess agent = node.agent(OPTIONS);
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final TestWorkload bob = node.workload(agent, "bob", "app=bob");
    flood(alice, address, ALL_PORTS);
    assertAnswersAll(bob.namespace(), address);
    assertAnswersAll(node.namespace(), address);
  }

  /**
   * However much workloads take together: one here could take all ports. Those that sockets leave
   * are few, since the kernel searches all of them once they are taken.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void shouldLeavePortsToTheNode(int family) throws Exception {
    node.namespace().exec("sysctl", "-qw", "net.ipv4.ip_local_port_range=3072 65535");
    final String address = WorldNetwork.ADDRESSES.get(family);
    final AgentProcess agent =
        node.agent("--device=net0", "--host-routing=legacy", "--masquerade-endpoint-share=100");
    flood(node.workload(agent, "alice", "app=alice"), address, ALL_PORTS);
    flood(node.workload(agent, "bob", "app=bob"), address, ALL_PORTS / 16);
    assertAnswersAll(node.namespace(), address);
  }

  @Test
  void shouldMasqueradeByIptablesWithoutNft() throws Exception {
    IptablesPrograms.offer(programs, "");
    node.namespace().exec("iptables", "-t", "nat", "-A", "POSTROUTING", "-d", "10.9.9.9");
    final AgentProcess agent = node.launchWithPrograms(programs, OPTIONS).ready();
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    assertMode(agent, "iptables");
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT)) {
      assertReachesTheWorld(alice);
      assertSendsItsOwnAddressToTheNativeRange(alice);
      final List<String> rules = postrouting();
      assertEquals("-A POSTROUTING -j AGENT-MASQUERADE", rules.get(1), "before those of others");
      node.namespace().exec("iptables", "-t", "nat", "-F");
      assertMends(agent, "changed", 1);
      assertEquals(List.of(rules.get(0), rules.get(1)), postrouting());
      assertReachesTheWorld(alice);
      assertTrue(server.connections() > 0);
    }
    agent.kill();
    final AgentProcess next =
        node.launchWithPrograms(
                programs, "--host-routing=legacy", "--prepend-iptables-chains=false")
            .ready();
    assertMode(next, "iptables");
    assertEquals(2, postrouting().size(), "still one jump");
    node.namespace().exec("iptables", "-t", "nat", "-F", "POSTROUTING");
    node.namespace().exec("iptables", "-t", "nat", "-A", "POSTROUTING", "-d", "10.9.9.9");
    assertMends(next, "changed", 1);
    assertEquals(
        "-A POSTROUTING -j AGENT-MASQUERADE", postrouting().getLast(), "behind those of others");
    next.kill();
    final AgentProcess.Ended ended = cleanup();
    assertTrue(ended.output().contains("masquerading rules of iptables"), ended.output());
    for (final String tool : List.of("iptables", "ip6tables")) {
      final String left = node.namespace().exec(tool, "-t", "nat", "-S");
      assertFalse(left.contains("AGENT"), left);
    }
  }

  private List<String> postrouting() {
    return node.namespace().exec("iptables", "-t", "nat", "-S", "POSTROUTING").lines().toList();
  }

  @Test
  void shouldRefuseToStartWithoutAToolUnlessTheOptionIsOff() throws Exception {
    node.namespace()
        .exec(
            "nft",
            "add table inet agent_masquerade; add chain inet"
                + " agent_masquerade postrouting { type nat hook postrouting priority 90; }");
    final AgentProcess refused = node.launchWithPrograms(programs, OPTIONS);
    assertEquals(2, refused.exitCode());
    final String reason = refused.log();
    assertTrue(
        reason.contains("--install-iptables-rules: masquerading by netfilter rules failed"),
        reason);
    assertTrue(reason.contains("CONFIG_NFT_MASQ") && reason.contains("iptables-restore"), reason);
    final AgentProcess agent =
        node.agent(
            "--host-routing=legacy", "--install-iptables-rules=false", "--enable-ipv4=false");
    assertMode(agent, "Disabled");
    assertEquals("", ruleset(), "those of a previous run");
    AgentStartKernelTest.assertHasOneFamily(agent, "ipv6", "ipv4");
  }

  @Test
  void shouldHaveRulesOnlyWhileFlowsGoThroughTheStack() throws Exception {
    final AgentProcess agent = node.agent("--device=net0");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    assertMode(agent, "BPF");
    assertEquals("", ruleset());
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT);
        TcpConnection ipv4 =
            TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(0), PORT);
        TcpConnection ipv6 =
            TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(1), PORT)) {
      assertTrue(ipv4.exchangesMore(10, 5000) && ipv6.exchangesMore(10, 5000));
      final Nftables firewall =
          Nftables.create(node.namespace(), Nftables.INET, "firewall")
              .filter("forward", Nftables.FORWARD, false)
              .rule("forward", Nftables.state(Nftables.INVALID), Nftables.drop());
      awaitMode(agent, "nftables");
      assertTrue(ipv4.exchangesMore(50, 10_000), "a connection of the programs goes on");
      assertTrue(ipv6.exchangesMore(50, 10_000), "a connection of the programs goes on");
      assertReachesTheWorld(alice);
      firewall.delete();
      awaitMode(agent, "BPF");
      awaitHealth(agent, "OK");
      assertTrue(ipv4.exchangesMore(50, 10_000) && ipv6.exchangesMore(50, 10_000));
      assertReachesTheWorld(alice);
      assertTrue(server.connections() > 0);
    }
    final long startNs = System.nanoTime();
    while (!ruleset().isEmpty()) {
      assertTrue(System.nanoTime() - startNs < REPAIR_NS, this::ruleset);
    }
  }
}
