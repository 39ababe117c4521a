package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.MapFlag;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.EndpointRates;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventGate;
import agent.maps.layout.EventType;
import agent.maps.layout.TranslationEventFlyweight;
import agent.maps.layout.TranslationPlace;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Events of flows to services that are given a backend, by their first packets. */
@KernelTest
class TranslationEventKernelTest {
  private static final int ID = 7;
  private static final int PORT = 53;
  private static final int SERVED = 5353;
  private static final int CLIENT = 40000;
  private static final String ROUTER_MAC = "02:00:00:00:07:07";

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().with(ALICE, EndpointOption.SERVICES);
  private final RingBufferReader ring = new RingBufferReader(node.map("events"));

  @AfterEach
  void close() {
    ring.close();
    node.close();
  }

  private record End(long high, long low, int port) {}

  private record Reported(
      TranslationPlace place,
      int family,
      int protocol,
      int endpoint,
      int service,
      int clientIdentity,
      int backendIdentity,
      long cookie,
      End client,
      End frontend,
      End backend) {}

  private void listen() {
    final EntryBuffer gate = new EntryBuffer(node.map("event_gate"));
    gate.value().putInt(0, EventGate.TRANSLATIONS.number());
    assertEquals(0, node.map("event_gate").update(gate, MapFlag.ANY));
  }

  /** Returns the events since the last call, of which each is a translation. */
  private List<Reported> reported() {
    final List<Reported> all = new ArrayList<>();
    ring.poll(
        (buffer, offset, length) -> {
          assertEquals(TranslationEventFlyweight.LENGTH, length);
          all.add(read(buffer, offset));
        },
        100);
    return all;
  }

  private static Reported read(UnsafeBuffer buffer, int offset) {
    final TranslationEventFlyweight event = new TranslationEventFlyweight().wrap(buffer, offset);
    assertEquals(EventType.TRANSLATION.number(), event.type());
    final long ageNs = System.nanoTime() - event.timestampNs();
    assertTrue(ageNs >= 0 && ageNs < 60 * ScenarioNode.SECOND_NS, ageNs + " ns");
    return new Reported(
        TranslationPlace.values()[event.place() - 1],
        event.family(),
        event.protocol(),
        event.endpointId(),
        event.serviceId(),
        event.sourceIdentity(),
        event.backendIdentity(),
        event.namespaceCookie(),
        new End(event.sourceAddressHigh(), event.sourceAddressLow(), event.sourcePort()),
        new End(event.frontendAddressHigh(), event.frontendAddressLow(), event.frontendPort()),
        new End(event.backendAddressHigh(), event.backendAddressLow(), event.backendPort()));
  }

  private static End end(Family family, ScenarioHost host, int port) {
    return family == Family.IPV4
        ? new End((long) host.ipv4Number() << 32, 0, port)
        : new End(host.ipv6High(), host.ipv6Low(), port);
  }

  private static Reported expected(
      Family family, int protocol, ScenarioHost client, ScenarioHost frontend, Server server) {
    return new Reported(
        client.isLocal() ? TranslationPlace.ENDPOINT : TranslationPlace.NETWORK,
        family == Family.IPV4 ? 4 : 6,
        protocol,
        client.id,
        ID,
        client == STRANGER ? ScenarioNode.WORLD_IDENTITY : client.identity,
        server.host().identity,
        0,
        end(family, client, CLIENT),
        end(family, frontend, PORT),
        end(family, server.host(), server.port()));
  }

  private IpPacket query(Family family, ScenarioHost client, ScenarioHost frontend, int protocol) {
    return Family.ports(family.packet(client, frontend), protocol, CLIENT, PORT);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellTheBackendOfANewFlowOfAWorkloadOnce(Family family) {
    listen();
    for (final int protocol : new int[] {TCP, UDP}) {
      for (final Server server : List.of(new Server(BOB, SERVED), new Server(PEER, SERVED))) {
        node.services(family).put(ID, STRANGER, PORT, protocol, 0, server);
        final IpPacket query = query(family, ALICE, STRANGER, protocol);
        for (int i = 0; i < 3; i++) {
          node.fromWorkload(ALICE, protocol == TCP && i == 0 ? query.syn() : query);
        }
        assertEquals(List.of(expected(family, protocol, ALICE, STRANGER, server)), reported());
        node.flows().delete(family, ALICE, CLIENT, STRANGER, PORT, protocol);
        node.flows().delete(family, ALICE, CLIENT, server.host(), SERVED, protocol);
      }
    }
  }

  /**
   * The workload is its own backend, or the backend is outside, which a flow leaves masqueraded.
   */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheBackendOfAFlowWhoseAddressesAreBothRewritten(Family family) {
    node.routed().masquerade(ScenarioNetwork.DEVICE, NODE);
    listen();
    for (final int protocol : new int[] {TCP, UDP}) {
      for (final Server server : List.of(new Server(ALICE, SERVED), new Server(PEER, SERVED))) {
        node.services(family).put(ID, STRANGER, PORT, protocol, 0, server);
        final IpPacket query = query(family, ALICE, STRANGER, protocol);
        for (int i = 0; i < 3; i++) {
          node.fromWorkload(ALICE, protocol == TCP && i == 0 ? query.syn() : query);
        }
        assertEquals(List.of(expected(family, protocol, ALICE, STRANGER, server)), reported());
        node.flows().delete(family, ALICE, CLIENT, STRANGER, PORT, protocol);
      }
    }
  }

  /** Its endpoint tells everything else meanwhile. */
  @ParameterizedTest
  @EnumSource
  void shouldTellNothingWhileNoReaderWantsIt(Family family) {
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, SERVED));
    node.with(ALICE, EndpointOption.DROP_NOTIFICATION);
    node.fromWorkload(ALICE, query(family, ALICE, STRANGER, UDP));
    assertNotNull(node.flows().find(family, ALICE, CLIENT, BOB, SERVED, UDP));
    assertEquals(0, ring.poll((buffer, offset, length) -> {}, 100), "records");
    node.services(family)
        .putOutside(ID, family.address(NODE), PORT, UDP, 0, new Server(BOB, SERVED));
    node.fromNetwork(query(family, FAR, NODE, UDP).from(ROUTER_MAC).to(ScenarioNode.DEVICE_MAC));
    assertNotNull(node.flows().find(family, FAR, CLIENT, BOB, SERVED, UDP));
    assertEquals(0, ring.poll((buffer, offset, length) -> {}, 100), "records");
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellThatAFlowGetsAnotherBackend(Family family) {
    listen();
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, SERVED));
    final IpPacket query = query(family, ALICE, STRANGER, UDP);
    node.fromWorkload(ALICE, query);
    final Server other = new Server(PEER, SERVED);
    node.services(family).state(ID, new Server(BOB, SERVED), null);
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, other);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(ALICE, query);
    assertEquals(
        List.of(
            expected(family, UDP, ALICE, STRANGER, new Server(BOB, SERVED)),
            expected(family, UDP, ALICE, STRANGER, other)),
        reported());
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellNoBackendOfADeniedFlow(Family family) {
    listen();
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, SERVED));
    node.policyOf(BOB).denyFromAny(UDP);
    node.fromWorkload(ALICE, query(family, ALICE, STRANGER, UDP))
        .dropsAtPeerFor(DropReason.POLICY_DENY_RULE);
    node.services(family).put(ID, STRANGER, PORT, UDP, 0);
    node.fromWorkload(ALICE, query(family, ALICE, STRANGER, UDP));
    assertEquals(List.of(), reported());
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellTheBackendsOfClientsOutside(Family family) {
    listen();
    node.routed().masquerade(ScenarioNetwork.DEVICE, NODE);
    for (final Server server :
        List.of(new Server(BOB, SERVED), new Server(HOST, SERVED), new Server(PEER, SERVED))) {
      node.services(family).putOutside(ID, family.address(NODE), PORT, UDP, 0, server);
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        final IpPacket query =
            query(family, client, NODE, UDP).from(ROUTER_MAC).to(ScenarioNode.DEVICE_MAC);
        node.fromNetwork(query);
        node.fromNetwork(query);
        assertEquals(List.of(expected(family, UDP, client, NODE, server)), reported());
        node.flows().delete(family, client, CLIENT, NODE, PORT, UDP);
      }
    }
  }

  /** Two workloads have one port, so that the second flow gets another one. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheSourceThatAFlowToTheOutsideGets(Family family) {
    node.routed().masquerade(ScenarioNetwork.DEVICE, NODE);
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, SERVED));
    node.fromWorkload(ALICE, query(family, ALICE, STRANGER, UDP)); // leaves the service's number
    listen();
    for (final int protocol : new int[] {TCP, UDP}) {
      for (final ScenarioHost client : List.of(ALICE, BOB)) {
        for (int i = 0; i < 3; i++) {
          node.fromWorkload(client, query(family, client, FAR, protocol));
        }
        final List<Reported> reported = reported();
        assertEquals(1, reported.size(), client + " protocol " + protocol);
        final int port = reported.getFirst().frontend().port();
        assertEquals(client == ALICE, port == CLIENT, port + " of " + client);
        assertNotNull(node.flows().find(family, NODE, port, FAR, PORT, protocol));
        assertEquals(
            new Reported(
                TranslationPlace.MASQUERADE,
                family == Family.IPV4 ? 4 : 6,
                protocol,
                client.id,
                0,
                client.identity,
                FAR.identity,
                0,
                end(family, client, CLIENT),
                end(family, NODE, port),
                end(family, FAR, PORT)),
            reported.getFirst());
      }
    }
  }

  /** Neither what stays on the node, nor what comes in, nor an answer. */
  @ParameterizedTest
  @EnumSource
  void shouldTellNoSourceOfAFlowThatKeepsItsOwn(Family family) {
    node.routed().masquerade(ScenarioNetwork.DEVICE, NODE);
    listen();
    node.fromWorkload(ALICE, query(family, ALICE, BOB, UDP));
    node.forwardedToWorkload(ALICE, query(family, FAR, ALICE, UDP)).passes();
    node.fromWorkload(ALICE, Family.ports(family.packet(ALICE, FAR), UDP, PORT, CLIENT));
    assertNotNull(node.flows().find(family, FAR, CLIENT, ALICE, PORT, UDP));
    assertEquals(List.of(), reported());
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellNoMoreThanTheShareOfAnEndpoint(Family family) {
    listen();
    node.eventsPerSecond(2);
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, SERVED));
    try (EndpointRates rates = new EndpointRates(node.map("endpoint_rates"))) {
      final int flows = 40; // more than two windows of a second, should one end meanwhile
      for (int port = 1; port <= flows; port++) {
        node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(port, PORT));
      }
      final int reported = reported().size();
      assertTrue(reported >= 2 && reported < flows, reported + " of " + flows);
      assertEquals(flows - reported, rates.eventsSuppressed());
      node.services(family).put(ID + 1, STRANGER, PORT + 1, UDP, 0, new Server(ALICE, SERVED));
      node.with(BOB, EndpointOption.SERVICES);
      node.fromWorkload(BOB, family.packet(BOB, STRANGER).udp(1, PORT + 1));
      assertEquals(1, reported().size(), "another endpoint's");
    }
  }
}
