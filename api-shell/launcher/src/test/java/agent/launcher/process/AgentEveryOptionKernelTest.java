package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.LibBpf;
import agent.conntrack.EndpointShares;
import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * One agent whose options each have another value than the default and than any other option: what
 * the kernel and the API have of them.
 */
@KernelTest
class AgentEveryOptionKernelTest {
  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload workload;
  private static JsonNode constants;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    for (final String address :
        new String[] {"192.0.2.70/24", "192.0.2.71/24", "2001:db8::70/64", "2001:db8::71/64"}) {
      node.namespace().exec("ip", "address", "add", address, "dev", "ext0", "nodad");
    }
    final Path socket = Files.createDirectory(node.state().resolve("api")).resolve("own.sock");
    agent =
        node.launch(
            "--socket-path=" + socket,
            "--bpf-ct-global-tcp-max=20480",
            "--bpf-ct-global-any-max=10240",
            "--bpf-policy-map-max=2048",
            "--conntrack-garbage-collector-interval=77s",
            "--conntrack-endpoint-share=41",
            "--masquerade-endpoint-share=7",
            "--endpoint-event-rate=4321",
            "--trace-payloadlen=99",
            "--api-max-body=40000",
            "--ipv4-node=192.0.2.71",
            "--ipv6-node=2001:db8::71",
            "--ipv6-range=auto",
            "--ipv6-cluster-alloc-cidr=fd99:0:0:7::/64",
            "--enable-policy=always",
            "--allow-localhost=always");
    agent.readyAt(socket);
    workload = node.workload(agent, "first", "app=a");
    constants = constants();
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static JsonNode bpftool(String... arguments) {
    final String[] command = new String[arguments.length + 2];
    command[0] = "bpftool";
    command[1] = "-j";
    System.arraycopy(arguments, 0, command, 2, arguments.length);
    return JsonMapper.shared().readTree(Commands.run(command));
  }

  /** Returns the {@code node_config} with which the program of the workload was loaded. */
  private static JsonNode constants() throws Exception {
    final int program =
        PinnedObjects.below(node.bpfRoot()).programs().entrySet().stream()
            .filter(pin -> pin.getKey().toString().contains("/endpoints/"))
            .findFirst()
            .orElseThrow()
            .getValue();
    for (final JsonNode map :
        bpftool("prog", "show", "id", Integer.toString(program)).get("map_ids")) {
      final String id = map.asString();
      if (bpftool("map", "show", "id", id).get("name").asString().endsWith(".rodata")) {
        return bpftool("map", "dump", "id", id).findValue("node_config");
      }
    }
    throw new AssertionError("program " + program + " has no constants");
  }

  private static long constant(String name) {
    return constants.get(name).asLong();
  }

  @Test
  void shouldGiveTheProgramsTheSharesOfAnEndpoint() {
    assertEquals(41, constant("flow_share_percent"));
    assertEquals(15, constant("port_shares"), "one port of 15 is less than 7 percent");
    assertEquals(4321, constant("events_per_second"));
    assertEquals(99, constant("payload_bytes"));
    final int cpus = LibBpf.possibleCpus();
    assertEquals(EndpointShares.capacity(20_480, cpus), constant("tcp_capacity"));
    assertEquals(EndpointShares.capacity(10_240, cpus), constant("any_capacity"));
  }

  @Test
  void shouldMakeTablesOfTheSizesOfTheOptions() throws Exception {
    final Map<String, Integer> sizes = new TreeMap<>();
    for (final JsonNode map :
        agent.expect(200, "GET", "/healthz", null).json().at("/bpf-maps/maps")) {
      sizes.put(map.get("name").asString(), map.get("size").asInt());
    }
    assertEquals(20_480, sizes.get("conntrack4_tcp"), sizes::toString);
    assertEquals(20_480, sizes.get("conntrack6_tcp"), sizes::toString);
    assertEquals(10_240, sizes.get("conntrack4_any"), sizes::toString);
    assertEquals(10_240, sizes.get("conntrack6_any"), sizes::toString);
    final String policy =
        sizes.keySet().stream().filter(map -> map.startsWith("policy_0")).findFirst().orElseThrow();
    assertEquals(2048, sizes.get(policy), sizes::toString);
  }

  @Test
  void shouldTakeBodiesUpToTheSizeOfTheOption() throws Exception {
    final String rules = "[]" + " ".repeat(40_000 - 2);
    agent.expect(200, "PUT", "/policy", rules);
    agent.expect(413, "PUT", "/policy", rules + " ");
  }

  @Test
  void shouldSweepAtTheInterval() throws Exception {
    for (final JsonNode each :
        agent.expect(200, "GET", "/healthz", null).json().get("controllers")) {
      if (each.get("name").asString().equals("conntrack-gc")) {
        assertEquals("77.0s", each.at("/configuration/interval").asString());
        return;
      }
    }
    throw new AssertionError("no sweeps");
  }

  @Test
  void shouldHaveTheAddressesOfTheOptions() throws Exception {
    final JsonNode addressing =
        agent.expect(200, "GET", "/config", null).json().at("/status/addressing");
    assertEquals("192.0.2.71", addressing.at("/ipv4/ip").asString(), addressing.toString());
    assertEquals("2001:db8::71", addressing.at("/ipv6/ip").asString(), addressing.toString());
    assertEquals(
        "fd99::7:c000:247:0:0/96",
        addressing.at("/ipv6/alloc-range").asString(),
        "of the prefix of the cluster and the IPv4 address of the node");
    assertTrue(workload.ipv6().startsWith("fd99::7:c000:247:"), workload.ipv6());
  }

  /** No rule allows anything, and others do not reach the workload. */
  @Test
  void shouldLetTheNodeReachItsWorkloads() throws Exception {
    final JsonNode policy =
        agent
            .expect(200, "GET", "/endpoint/" + workload.id(), null)
            .json()
            .at("/status/policy/realized");
    assertEquals("[1]", policy.get("allowed-ingress-identities").toString(), policy.toString());
    for (final String address : new String[] {workload.ipv4(), workload.ipv6()}) {
      assertTrue(Ping.isAnswered(node.namespace(), address, 2000), address);
    }
  }
}
