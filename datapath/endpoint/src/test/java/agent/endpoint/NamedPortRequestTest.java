package agent.endpoint;

import static agent.endpoint.EndpointRig.assertRefused;
import static agent.endpoint.TestRules.selector;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.datapath.spec.PolicyEntry;
import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.maps.layout.PolicyDirection;
import agent.policy.spec.NamedPort;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.types.Refusal;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Named ports of endpoints: requests, changes, restarts, and the policy maps that follow them. */
class NamedPortRequestTest {
  private final FakeRig agent = new FakeRig();

  private static Requests server() {
    return Requests.on("lxc1").ipv4("10.5.0.9").labels("app=server");
  }

  private static Requests client() {
    return Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client");
  }

  private static Requests patch() {
    return Requests.request().state("ready").sync();
  }

  private static RequestedPort port(String name, Integer port, String protocol) {
    return new RequestedPort(name, port, protocol);
  }

  /** Allows the client to send to the named port, and the server to receive on it. */
  private void allow(String name) {
    final List<PortRuleSpec> ports =
        List.of(new PortRuleSpec(List.of(new PortSpec(name, null, "TCP")), null));
    agent.importRules(
        new RuleSpec(
            selector("app=client"), null, List.of(to("app=server", ports)), null, null, null, null),
        new RuleSpec(
            selector("app=server"),
            List.of(to("app=client", ports)),
            null,
            null,
            null,
            null,
            null));
  }

  private static PeerRuleSpec to(String peer, List<PortRuleSpec> ports) {
    return new PeerRuleSpec(
        List.of(selector(peer)), null, null, null, null, ports, null, null, null, null);
  }

  private List<Integer> ports(int endpoint, PolicyDirection direction) {
    return agent.datapath.policies.get(endpoint).values().stream()
        .filter(entry -> entry.direction() == direction && entry.identity() != 0)
        .map(PolicyEntry::port)
        .sorted()
        .toList();
  }

  private void assertOpen(Integer... ports) {
    assertEquals(List.of(ports), ports(1, PolicyDirection.INGRESS));
    assertEquals(List.of(ports), ports(2, PolicyDirection.EGRESS));
  }

  @Test
  void shouldFollowTheNamedPortsOfARequest() {
    assertEquals(
        List.of(new NamedPort("dns", 53, "UDP"), new NamedPort("http", 8080, "TCP")),
        agent
            .create("1", server().namedPorts(port("HTTP", 8080, null), port("dns", 53, "udp")))
            .namedPorts());
    agent.create("2", client());
    allow("http");
    assertOpen(8080);
    agent.modify("1", patch().namedPorts(port("http", 9090, "TCP")));
    assertOpen(9090);
    assertEquals(1, agent.modify("1", patch().containerName("c")).namedPorts().size());
    assertOpen(9090);
    agent.restart();
    assertOpen(9090);
    assertEquals(List.of(new NamedPort("http", 9090, "TCP")), agent.get("1").namedPorts());
    agent.modify("1", patch().namedPorts());
    assertOpen();
    assertEquals(List.of(), agent.get("1").namedPorts());
  }

  @Test
  void shouldMeanNoPortOfAnEndpointThatIsDeleted() {
    agent.create("1", server().namedPorts(port("http", 8080, null)));
    agent.create("2", client());
    allow("http");
    assertEquals(List.of(), agent.delete("1"));
    assertEquals(List.of(), ports(2, PolicyDirection.EGRESS));
  }

  @Test
  void shouldKeepThePortsOfAnEndpointThatGetsAnotherIdentity() {
    agent.create("1", server().namedPorts(port("http", 8080, null)));
    agent.create("2", client());
    agent.create("3", Requests.on("lxc3").ipv4("10.5.0.11").labels("app=server"));
    allow("http");
    agent.relabel("1", "zone=a"); // the former identity stays, that of endpoint 3
    assertOpen(8080);
    final int identity = agent.get("1").identity().id();
    assertEquals(
        List.of(identity),
        agent.datapath.policies.get(2).values().stream()
            .filter(entry -> entry.direction() == PolicyDirection.EGRESS && entry.identity() != 0)
            .map(PolicyEntry::identity)
            .toList());
  }

  @Test
  void shouldUndoPortsThatCannotBeStored() {
    agent.create("1", server().namedPorts(port("http", 8080, null)));
    agent.create("2", client());
    allow("http");
    agent.store.failingSave = 1; // that of the build, which has changed the maps
    assertThrows(
        RuntimeException.class,
        () -> agent.modify("1", patch().namedPorts(port("http", 9090, null))));
    agent.run();
    assertOpen(8080);
    assertEquals(8080, agent.get("1").namedPorts().getFirst().port());
  }

  @ParameterizedTest
  @CsvSource({
    "http_, 80, TCP, named-ports[1].name",
    ", 80, TCP, named-ports[1].name",
    "http, , TCP, named-ports[1].port",
    "http, 0, TCP, named-ports[1].port",
    "http, 65536, TCP, named-ports[1].port",
    "http, 80, ICMP, named-ports[1].protocol",
    "WEB, 81, , named-ports[1].name",
  })
  void shouldRefuseAPortByItsField(String name, Integer number, String protocol, String field) {
    assertRefused(
        Refusal.Kind.INVALID,
        field,
        () ->
            agent.create(
                "1", server().namedPorts(port("web", 80, "TCP"), port(name, number, protocol))));
  }

  @Test
  void shouldRefuseMoreThan256Ports() {
    final RequestedPort[] many = new RequestedPort[257];
    for (int i = 0; i < many.length; i++) {
      many[i] = port("p" + i, 1 + i, null);
    }
    assertRefused(
        Refusal.Kind.INVALID, "named-ports", () -> agent.create("1", server().namedPorts(many)));
    assertEquals(0, agent.create("1", server()).namedPorts().size());
  }

  @Test
  void shouldTakeUpTo256NamedPorts() {
    final RequestedPort[] most =
        IntStream.rangeClosed(1, 256)
            .mapToObj(i -> port("port-" + i, i, "TCP"))
            .toArray(RequestedPort[]::new);
    assertEquals(256, agent.create("1", server().namedPorts(most)).namedPorts().size());
  }

  /** Ports that a request names in another order are no change. */
  @Test
  void shouldListThePortsOfOneNameByTheirProtocols() {
    final RequestedPort tcp = port("dns", 53, "TCP");
    final RequestedPort udp = port("dns", 53, "UDP");
    final List<NamedPort> both =
        List.of(new NamedPort("dns", 53, "TCP"), new NamedPort("dns", 53, "UDP"));
    assertEquals(both, agent.create("1", server().namedPorts(udp, tcp)).namedPorts());
    agent.datapath.calls.clear();
    assertEquals(both, agent.modify("1", patch().namedPorts(tcp, udp)).namedPorts());
    assertEquals(List.of(), agent.datapath.calls);
  }
}
