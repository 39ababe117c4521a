package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.packet;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.ScenarioNode.SECOND_NS;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.MapFlag;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.ServiceAffinityFlyweight;
import agent.maps.layout.ServiceAffinityKeyFlyweight;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * How long a client keeps its backend, and who is one client, for packets. STRANGER has the address
 * of the service for workloads, and NODE that for clients outside.
 */
@KernelTest
class ServiceAffinityKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final int AFFINITY_SEC = 600;
  private static final long CLIENT_OF_PACKETS = 1L << 63;
  private static final long CLIENT_OUTSIDE = 1L << 62;
  private static final Server PEERS = new Server(PEER, SERVED);
  private static final Server BOBS = new Server(BOB, SERVED);

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().with(ALICE, EndpointOption.SERVICES);
  private final BpfMap affinities = node.map("service_affinities");
  private final EntryBuffer entry = new EntryBuffer(affinities);
  private final ServiceAffinityKeyFlyweight key =
      new ServiceAffinityKeyFlyweight().wrap(entry.key(), 0);
  private final ServiceAffinityFlyweight value =
      new ServiceAffinityFlyweight().wrap(entry.value(), 0);

  @AfterEach
  void close() {
    node.close();
  }

  private void serve(Family family, Server server) {
    node.services(family).put(ID, STRANGER, PORT, UDP, AFFINITY_SEC, server);
  }

  private static IpPacket query(Family family, int port) {
    return packet(family, ALICE, STRANGER, UDP, port, PORT, true);
  }

  private static IpPacket served(Family family, int port, Server server) {
    return packet(family, ALICE, server.host(), UDP, port, server.port(), true);
  }

  /** Reads the only entry into the buffer. */
  private void readOnly() {
    try (MapCursor cursor = new MapCursor()) {
      assertEquals(0, cursor.open(affinities));
      assertTrue(cursor.next());
      entry.key().putBytes(0, cursor.key(), 0, affinities.keySize());
      entry.value().putBytes(0, cursor.value(), 0, affinities.valueSize());
      assertTrue(!cursor.next(), "one client");
    }
  }

  private void usedBefore(long seconds) {
    readOnly();
    value.usedNs(System.nanoTime() - seconds * SECOND_NS);
    assertEquals(0, affinities.update(entry, MapFlag.ANY));
  }

  /** The time is counted from the last flow, and not from the first. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendAsLongAsTheClientOpensFlows(Family family) {
    serve(family, PEERS);
    node.fromWorkload(ALICE, query(family, CLIENT)).passesAs(served(family, CLIENT, PEERS));
    serve(family, BOBS);
    for (int flow = 1; flow <= 3; flow++) {
      usedBefore(AFFINITY_SEC - 5);
      node.fromWorkload(ALICE, query(family, CLIENT + flow))
          .passesAs(served(family, CLIENT + flow, PEERS));
      readOnly();
      final long agoNs = System.nanoTime() - value.usedNs();
      assertTrue(agoNs < 5 * SECOND_NS, () -> "used " + agoNs + " ns ago");
    }
    usedBefore(AFFINITY_SEC + 1);
    node.fromWorkload(ALICE, query(family, CLIENT + 4))
        .reachesAs(BOB, served(family, CLIENT + 4, BOBS));
    node.fromWorkload(ALICE, query(family, CLIENT + 5))
        .reachesAs(BOB, served(family, CLIENT + 5, BOBS));
  }

  /** A network namespace whose cookie is the number of an endpoint is another client. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheClientsOfPacketsFromNetworkNamespaces(Family family) {
    serve(family, PEERS);
    key.clear().client(ALICE.id).serviceId(ID);
    final Server server = PEERS;
    final boolean isIpv4 = family == Family.IPV4;
    value
        .clear()
        .usedNs(System.nanoTime())
        .address(
            isIpv4 ? 0 : server.host().ipv6High(),
            isIpv4
                ? 0xffff_0000_0000L | server.host().ipv4Number() & 0xffff_ffffL
                : server.host().ipv6Low())
        .port(SERVED);
    assertEquals(0, affinities.update(entry, MapFlag.ANY));
    serve(family, BOBS);
    node.fromWorkload(ALICE, query(family, CLIENT)).reachesAs(BOB, served(family, CLIENT, BOBS));
    assertEquals(0, affinities.delete(entry), "the entry of the namespace is there");
    readOnly();
    assertEquals(CLIENT_OF_PACKETS | ALICE.id, key.client());
  }

  /** The clients outside are neither namespaces nor endpoints, and not each other. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheClientsOutsideFromOthers(Family family) {
    node.services(family).putOutside(ID, family.address(NODE), PORT, UDP, AFFINITY_SEC, BOBS);
    long former = 0;
    for (final ScenarioHost client : new ScenarioHost[] {PEER, FAR}) {
      node.fromNetwork(packet(family, client, NODE, UDP, CLIENT, PORT, true).to(DEVICE_MAC));
      readOnly();
      assertEquals(CLIENT_OUTSIDE, key.client() & (CLIENT_OUTSIDE | CLIENT_OF_PACKETS));
      assertNotEquals(former, key.client());
      former = key.client();
      assertEquals(0, affinities.delete(entry));
    }
  }
}
