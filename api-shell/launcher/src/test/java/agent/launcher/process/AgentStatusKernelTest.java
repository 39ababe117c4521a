package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.KernelClock;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Status, configuration, nodes and debug information of a running agent: from the thing itself. */
@KernelTest
class AgentStatusKernelTest {
  private static final List<String> COMPONENTS =
      List.of(
          "agent",
          "auth-certificate-provider",
          "cni-file",
          "container-runtime",
          "flowobs",
          "kvstore",
          "orch");

  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload workload;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().exec("ip", "link", "set", "ext0", "mtu", "1380");
    node.namespace().exec("ip", "address", "add", "198.51.100.1/24", "dev", "ext0");
    node.namespace().exec("ip", "route", "add", "default", "via", "198.51.100.9", "dev", "ext0");
    agent = node.agent("--api-rate-limit=read=2/s", "--cluster-name=blue");
    workload = node.workload(agent, "owned", "app=a");
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  /** Waits where the limit of the reads is reached. */
  private static JsonNode read(String path) throws Exception {
    ApiCall.Answer answer = agent.call("GET", path, null);
    while (answer.status() == 429) {
      Thread.sleep(200);
      answer = agent.call("GET", path, null);
    }
    assertEquals(200, answer.status(), answer.text());
    return answer.json();
  }

  @Test
  void shouldSayOfEveryComponentWhatItsStateIsAndWhy() throws Exception {
    final JsonNode status = read("/healthz");
    for (final String component : COMPONENTS) {
      final String expected = Set.of("agent", "flowobs").contains(component) ? "Ok" : "Disabled";
      final JsonNode state = status.get(component);
      assertEquals(expected, state.get("state").asString(), component + ": " + state);
      assertFalse(state.get("msg").asString().isEmpty(), component);
    }
    assertTrue(status.get("agent").get("msg").asString().matches("all \\d+ modules are OK"));
    for (final String off : List.of("/encryption/mode", "/host-firewall/mode")) {
      assertEquals("Disabled", status.at(off).asString(), off);
    }
    assertEquals("Partial", status.at("/orch-proxy-replacement/mode").asString());
    final boolean bypasses = status.at("/host-routing/mode").asString().equals("BPF");
    final JsonNode masquerading = status.get("masquerading");
    assertEquals(bypasses ? "BPF" : "nftables", masquerading.get("mode").asString());
    assertTrue(masquerading.get("enabled").asBoolean());
    assertTrue(masquerading.at("/enabledProtocols/ipv4").asBoolean());
    assertEquals(0, status.at("/proxy/total-redirects").asInt(-1));
    assertEquals("[]", status.at("/proxy/redirects").toString());
    final JsonNode features = status.at("/orch-proxy-replacement/features");
    for (final String on :
        List.of(
            "socketLB",
            "socketLBTracing",
            "hostReachableServices",
            "sessionAffinity",
            "gracefulTermination",
            "externalIPs",
            "hostPort",
            "nodePort")) {
      assertTrue(features.get(on).get("enabled").asBoolean(), on);
    }
    assertEquals("[\"ext0\"]", status.at("/orch-proxy-replacement/devices").toString());
    assertEquals(
        "ext0", status.at("/orch-proxy-replacement/deviceList/0/name").asString(), "deviceList");
    assertEquals(
        "198.51.100.1", status.at("/orch-proxy-replacement/deviceList/0/ip/0").asString(), "ip");
    assertEquals("[\"TCP\",\"UDP\"]", features.at("/hostReachableServices/protocols").toString());
    assertEquals("blue", status.at("/cluster/name").asString());
  }

  @Test
  void shouldReadNumbersFromTheKernel() throws Exception {
    final JsonNode status = read("/healthz");
    assertEquals(KernelClock.tickHertz(), status.at("/clock-source/hertz").asInt());
    assertTrue(status.get("client-id").isIntegralNumber(), status.get("client-id").toString());
    assertTrue(status.at("/bpf-maps/dynamic-size-ratio").isNumber());
    assertTrue(status.at("/bpf-maps/maps").size() > 5);
    assertEquals(256, status.at("/identity-range/min-identity").asInt());
    assertEquals(65535, status.at("/identity-range/max-identity").asInt());
    final String link =
        node.namespace()
            .exec("ip", "-d", "-o", "link", "show", "dev", workload.veth().hostInterface());
    final int gro = status.at("/ipv6-big-tcp/maxGRO").asInt();
    assertTrue(link.contains("gro_max_size " + gro + " "), gro + ": " + link);
    final int gso = status.at("/ipv6-big-tcp/maxGSO").asInt();
    assertTrue(link.contains("gso_max_size " + gso + " "), gso + ": " + link);
    assertFalse(status.at("/ipv4-big-tcp/enabled").asBoolean(true));
  }

  /** The option of the link is that of IPv6 where it is above 64 KiB. */
  @Test
  void shouldTellTheSizesOfEachFamily() throws Exception {
    final String device = workload.veth().hostInterface();
    sizes(device, 100_000, 90_000);
    try {
      final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (!read("/healthz").at("/ipv6-big-tcp/enabled").asBoolean()) {
        assertTrue(System.nanoTime() < deadline, "the sizes are not read again");
        Thread.sleep(100);
      }
      final JsonNode status = read("/healthz");
      assertEquals(
          "{\"enabled\":true,\"maxGRO\":100000,\"maxGSO\":90000}",
          status.get("ipv6-big-tcp").toString());
      assertEquals(
          "{\"enabled\":false,\"maxGRO\":65536,\"maxGSO\":65536}",
          status.get("ipv4-big-tcp").toString());
      final JsonNode config = read("/config").get("status");
      assertEquals(100_000, config.get("GROMaxSize").asInt());
      assertEquals(90_000, config.get("GSOMaxSize").asInt());
      assertEquals(65_536, config.get("GROIPv4MaxSize").asInt());
      assertEquals(65_536, config.get("GSOIPv4MaxSize").asInt());
    } finally {
      sizes(device, 65_536, 65_536);
      while (read("/healthz").at("/ipv6-big-tcp/enabled").asBoolean()) {
        Thread.sleep(100);
      }
    }
  }

  private static void sizes(String device, int gro, int gso) {
    node.namespace()
        .ip("link set dev %s gro_max_size %d gso_max_size %d".formatted(device, gro, gso));
  }

  @Test
  void shouldTellTheOwnerOfEveryAddress() throws Exception {
    final JsonNode ipam = read("/healthz").get("ipam");
    assertEquals("owned", ipam.get("allocations").get(workload.ipv4()).asString());
    assertEquals("owned", ipam.get("allocations").get(workload.ipv6()).asString());
    assertTrue(ipam.get("ipv4").toString().contains('"' + workload.ipv4() + '"'));
    assertTrue(ipam.get("ipv6").toString().contains('"' + workload.ipv6() + '"'));
    assertTrue(
        ipam.get("status").asString().matches("IPv4: \\d+ allocated from 10.210.0.0/24, IPv6: .*"),
        ipam.toString());
    agent.expect(200, "POST", "/ipam/10.210.0.77?owner=now", null);
    assertEquals("now", read("/healthz").at("/ipam/allocations/10.210.0.77").asString());
    agent.expect(200, "DELETE", "/ipam/10.210.0.77", null);
    assertTrue(read("/healthz").at("/ipam/allocations/10.210.0.77").isMissingNode());
  }

  @Test
  void shouldCountTheRunsOfTheControllers() throws Exception {
    final long before = runs("state-write-retry");
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (runs("state-write-retry") < before + 2 || runs("host-routing-watch") < 1) {
      assertTrue(System.nanoTime() < deadline, "a controller does not run");
      Thread.sleep(100);
    }
    assertTrue(runs("conntrack-gc") >= 0);
  }

  private static long runs(String name) throws Exception {
    for (final JsonNode controller : read("/healthz").get("controllers")) {
      if (controller.get("name").asString().equals(name)) {
        assertEquals(36, controller.get("uuid").asString().length());
        return controller.at("/status/success-count").asLong();
      }
    }
    throw new AssertionError("there is no controller " + name);
  }

  @Test
  void shouldConfigureAsItIsInForce() throws Exception {
    final JsonNode config = read("/config");
    final JsonNode status = config.get("status");
    final JsonNode map = status.get("daemonConfigurationMap");
    assertEquals("disabled", map.get("tunnel").asString());
    final boolean bypasses = map.get("host-routing").asString().equals("bpf");
    assertTrue(map.get("masquerade").asBoolean());
    assertEquals("10.210.0.0/24", map.get("ipv4-native-routing-cidr").asString());
    assertEquals(!bypasses, map.get("install-iptables-rules").asBoolean());
    assertEquals(agent.socket().toString(), map.get("socket-path").asString());
    assertEquals(node.state().toString(), map.get("state-dir").asString());
    assertFalse(map.get("config").asString().contains("$"), map.get("config").toString());
    assertEquals("3600", map.get("http-request-timeout").asString());
    assertEquals("not enabled", map.get("prefilter-mode").asString());
    assertEquals("10.210.0.0/24", map.get("ipv4-range").asString());
    assertEquals("198.51.100.1", map.get("ipv4-node").asString());
    assertEquals("ext0", map.get("device").asString());
    assertTrue(List.of("bpf", "legacy").contains(map.get("host-routing").asString()));
    assertEquals("2/s", map.get("api-rate-limit").get("read").asString());
    assertEquals(
        Files.readAttributes(agent.socket(), PosixFileAttributes.class).group().getName(),
        map.get("socket-group").asString());
    assertEquals("disabled", status.get("immutable").get("tunnel").asString());
    assertTrue(status.get("immutable").get("enable-policy") == null, "it can be changed");
    assertFalse(config.toString().contains("$HOME"), "not expanded");
    assertFalse(config.toString().contains("<state-dir>"), "not expanded");
  }

  @Test
  void shouldTellTheSizesThatAPluginNeeds() throws Exception {
    final JsonNode status = read("/config").get("status");
    assertEquals(1380, status.get("deviceMTU").asInt());
    assertEquals(1380, status.get("routeMTU").asInt());
    final JsonNode bigTcp = read("/healthz").get("ipv6-big-tcp");
    assertEquals(bigTcp.get("maxGRO"), status.get("GROMaxSize"));
    assertEquals(bigTcp.get("maxGSO"), status.get("GSOMaxSize"));
    assertTrue(status.get("GROIPv4MaxSize").asInt() > 0);
    assertTrue(status.get("GSOIPv4MaxSize").asInt() > 0);
    assertTrue(status.get("nodeMonitor").get("seen").isNumber());
    assertEquals("", status.get("ipLocalReservedPorts").asString());
    assertEquals(status.get("daemonConfigurationMap").get("masquerade"), status.get("masquerade"));
    assertEquals("embedded", status.get("ipam-mode").asString());
    node.namespace().exec("ip", "link", "set", "ext0", "mtu", "1290");
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (read("/config").at("/status/deviceMTU").asInt() != 1290) {
      assertTrue(System.nanoTime() < deadline, "the MTU is not read again");
    }
    node.namespace().exec("ip", "link", "set", "ext0", "mtu", "1380");
    while (read("/config").at("/status/deviceMTU").asInt() != 1380) {
      Thread.sleep(100);
    }
  }

  @Test
  void shouldListThisNodeToANewClientAndThenNothing() throws Exception {
    final JsonNode all = read("/cluster/nodes");
    assertTrue(all.get("self").asString().startsWith("blue/"), all.toString());
    final JsonNode self = all.get("nodes-added").get(0);
    assertEquals(all.get("self"), self.get("name"));
    assertEquals("198.51.100.1", self.at("/primary-address/ipv4/ip").asString());
    assertEquals("10.210.0.0/24", self.at("/primary-address/ipv4/alloc-range").asString());
    assertTrue(self.get("secondary-addresses").toString().contains("10.210.0.1"), self.toString());
    assertNotEquals(read("/healthz").get("client-id"), all.get("client-id"));
  }

  @Test
  void shouldNotLimitWhatWatchesTheAgent() throws Exception {
    for (int i = 0; i < 50; i++) {
      agent.expect(200, "GET", "/healthz", null);
      agent.expect(200, "GET", "/metrics/", null);
    }
    int limited = 0;
    for (int i = 0; i < 10; i++) {
      limited += agent.call("GET", "/map", null).status() == 429 ? 1 : 0;
    }
    assertTrue(limited > 0, "other reads are limited");
  }

  @Test
  void shouldShowAnEmptyPrefilterWithoutADevice() throws Exception {
    final JsonNode list = read("/prefilter");
    assertEquals("[]", list.at("/spec/deny").toString());
    assertEquals("[]", list.at("/status/realized/deny").toString());
    agent.expect(501, "PATCH", "/prefilter", "{\"deny\":[\"10.0.0.0/8\"]}");
  }

  @Test
  void shouldGatherTheDebugInformation() throws Exception {
    final JsonNode debug = read("/debuginfo");
    assertEquals("Ok", debug.at("/agent-status/agent/state").asString());
    assertEquals(workload.id(), debug.at("/endpoint-list/0/id").asInt());
    assertTrue(debug.get("agent-memory-map").asString().contains("[heap]"));
    assertFalse(debug.get("agent-version").asString().isEmpty());
    assertEquals(System.getProperty("os.version"), debug.get("kernel-version").asString());
    assertTrue(debug.get("environment-variables").toString().contains("PATH="));
    assertEquals("[]", debug.get("service-list").toString());
    assertEquals("[]", debug.at("/policy/policy").asString());
    assertTrue(debug.get("subsystem").get("health").asString().contains("dp-conductor"));
  }
}
