package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.IpcacheEdits;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.RedirectKind;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.Workload;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Entries and pins of maps that another tool changes are repaired, and reported until then. */
@KernelTest
class MapGuardKernelTest {
  private static final int CLIENT = 911;
  private static final int SERVER = 912;
  private static final int CLIENT_IDENTITY = 9101;
  private static final int SERVER_IDENTITY = 9102;
  private static final PolicyEntry FROM_CLIENT =
      PolicyEntry.allowAll(CLIENT_IDENTITY, PolicyDirection.INGRESS);

  private ManagerTestNode node;
  private Workload client;
  private Workload server;
  private DatapathManager manager;
  private GuardWatch watch;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    client = node.workload(92);
    server = node.workload(93);
    manager = node.launch(node.context());
    watch = new GuardWatch(manager);
    await(manager.ipcache().read()); // as the owner of the ipcache does first
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(CLIENT, client, CLIENT_IDENTITY), ManagerTestNode.allowAll());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private void attachServer(PolicyEntry... policy) {
    ManagerTestNode.attach(
        manager,
        ManagerTestNode.spec(SERVER, server, SERVER_IDENTITY),
        ManagerTestNode.ingressOnly(policy));
  }

  /** Returns whether the server answers the client; waits for an answer that is expected. */
  private boolean isServed(boolean isExpected) {
    final int tries = isExpected ? 20 : 1;
    for (int i = 0; i < tries; i++) {
      if (Ping.isAnswered(client.namespace(), server.ipv4(), isExpected ? 1000 : 300)) {
        return true;
      }
    }
    return false;
  }

  /** Opens a pinned map as another process does. */
  private BpfMap opened(String name) {
    final Path pin = pin(name);
    return BpfMap.adopt(
        BpfFileSystem.open(pin),
        manager.maps().find(name).orElseThrow().definition(),
        pin.toString());
  }

  private Path pin(String map) {
    return node.bpfRoot().resolve("agent/maps").resolve(map);
  }

  private BpfMap openedPolicy() {
    return opened("policy_%05d".formatted(SERVER));
  }

  private static int write(PolicyMap map, PolicyEntry entry) {
    return map.upsert(
        entry.identity(),
        entry.direction().number(),
        entry.protocol(),
        entry.port(),
        entry.prefixLength(),
        entry.verdict().flags(),
        entry.verdict().redirect());
  }

  private void assertRight() {
    watch.awaitRight();
    assertEquals(List.of(), manager.endpointFaults().of(SERVER));
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldCutConnectionsThatAForeignEntryHasAllowed() throws Exception {
    attachServer();
    try (BpfMap map = openedPolicy();
        TcpEchoServer echo = TcpEchoServer.start(server.namespace(), 8080)) {
      final PolicyMap policy = new PolicyMap(map);
      assertEquals(0, write(policy, FROM_CLIENT));
      watch.awaitRepair(Kind.MAP_ENTRY, 1); // the next round follows after 2 seconds
      assertEquals(0, write(policy, FROM_CLIENT));
      try (TcpConnection connection = TcpConnection.open(client.namespace(), server.ipv4(), 8080)) {
        watch.awaitRepair(Kind.MAP_ENTRY, 2);
        assertTrue(connection.isCutFor(400));
      }
      assertEquals(1, echo.connections());
    }
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldDeleteAnEntryThatAnotherToolInserted() {
    attachServer();
    assertFalse(isServed(false));
    try (BpfMap map = openedPolicy()) {
      assertEquals(0, write(new PolicyMap(map), FROM_CLIENT));
    }
    final Fault fault = watch.awaitFault(SERVER);
    assertEquals(Part.POLICY, fault.part());
    assertTrue(fault.isRepairable());
    assertTrue(fault.message().contains("1 unexpected"), fault.message());
    assertTrue(fault.message().contains(Integer.toString(CLIENT_IDENTITY)), fault.message());
    assertEquals(1, watch.repairs(Kind.MAP_ENTRY));
    assertFalse(isServed(false));
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldWriteAnEntryAgainThatAnotherToolDeletedOrChanged() {
    attachServer(FROM_CLIENT);
    assertTrue(isServed(true));
    try (BpfMap map = openedPolicy()) {
      final PolicyMap policy = new PolicyMap(map);
      assertEquals(
          0,
          policy.delete(
              CLIENT_IDENTITY, PolicyDirection.INGRESS.number(), 0, 0, PolicyPrefix.IDENTITY));
      watch.awaitRepair(Kind.MAP_ENTRY, 1);
      assertTrue(isServed(true));
      assertEquals(0, write(policy, with(FROM_CLIENT, PolicyVerdict.DENY)));
      watch.awaitRepair(Kind.MAP_ENTRY, 2);
    }
    assertTrue(isServed(true));
    assertRight();
  }

  private static PolicyEntry with(PolicyEntry entry, PolicyVerdict verdict) {
    return new PolicyEntry(
        entry.identity(),
        entry.direction(),
        entry.protocol(),
        entry.port(),
        entry.prefixLength(),
        verdict);
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowTheChangesOfTheAgentItself() {
    attachServer();
    final List<PolicyEntry> entries = new ArrayList<>();
    for (int port = 1; port <= 1000; port++) {
      entries.add(PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, 6, port));
    }
    final long end = System.nanoTime() + 6_000_000_000L; // three rounds
    while (System.nanoTime() < end) {
      await(ManagerTestNode.apply(manager, SERVER, new PolicyDelta(entries, List.of())));
      await(
          ManagerTestNode.apply(
              manager, SERVER, new PolicyDelta(List.of(FROM_CLIENT), entries.subList(0, 700))));
      await(manager.policyMaps().synchronize(SERVER, entries.subList(500, 1000)));
    }
    assertEquals(0, watch.repairs(Kind.MAP_ENTRY));
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairAFullPolicyMapFromWhichAllEntriesWereDeleted() {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (int port = 0; port < 16_000; port++) {
      entries.add(PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, 6, port + 1));
    }
    attachServer();
    await(manager.policyMaps().synchronize(SERVER, entries));
    try (BpfMap map = openedPolicy()) {
      final PolicyMap policy = new PolicyMap(map);
      for (final PolicyEntry entry : entries) {
        assertEquals(
            0,
            policy.delete(
                CLIENT_IDENTITY,
                PolicyDirection.INGRESS.number(),
                6,
                entry.port(),
                PolicyPrefix.PORT));
      }
      watch.awaitRepair(Kind.MAP_ENTRY, 16_000);
      assertEquals(16_000, map.countEntries());
    }
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldSetASlotAgainThatWasEmptiedOrHoldsAnotherMap() {
    attachServer(FROM_CLIENT);
    assertTrue(isServed(true));
    try (BpfMap slots = opened("policies");
        BpfMap other = opened("policy_%05d".formatted(CLIENT))) {
      assertEquals(0, new PolicyMapArray(slots).clear(SERVER));
      final Fault fault = watch.awaitFault(SERVER);
      assertEquals(Part.POLICY, fault.part());
      assertTrue(fault.message().contains("is empty"), fault.message());
      watch.awaitRepair(Kind.MAP_ENTRY, 1);
      assertTrue(isServed(true));
      assertEquals(0, new PolicyMapArray(slots).set(SERVER, other.fd()));
      watch.awaitRepair(Kind.MAP_ENTRY, 2);
      try (BpfMap right = openedPolicy()) {
        assertEquals(right.description().id(), new PolicyMapArray(slots).mapId(SERVER));
      }
    }
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldWriteAnEntryOfEndpointsAgainAndClearAForeignOne() {
    attachServer(FROM_CLIENT);
    try (BpfMap map = opened("endpoints")) {
      final EndpointMap endpoints = new EndpointMap(map);
      assertEquals(0, endpoints.clear(SERVER));
      final Fault fault = watch.awaitFault(SERVER);
      assertEquals(Part.PROGRAMS, fault.part());
      assertTrue(fault.message().contains("is empty"), fault.message());
      watch.awaitRepair(Kind.MAP_ENTRY, 1);
      assertEquals(0, endpoints.lookup(SERVER));
      assertEquals(server.veth().hostIfindex(), endpoints.found().ifindex());
      assertEquals(SERVER_IDENTITY, endpoints.found().identity());
      assertTrue(isServed(true));
      endpoints.edit(SERVER).ifindex(client.veth().hostIfindex()).identity(1);
      assertEquals(0, endpoints.put());
      endpoints.edit(40_000).ifindex(1).identity(1);
      assertEquals(0, endpoints.put());
      watch.awaitRepair(Kind.MAP_ENTRY, 3);
      assertEquals(0, endpoints.lookup(40_000));
      assertEquals(0, endpoints.found().ifindex());
    }
    assertTrue(isServed(true));
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairTheIpcache() {
    attachServer(FROM_CLIENT);
    assertTrue(isServed(true));
    final int address = (int) IpAddress.parse(client.ipv4()).low();
    try (BpfMap map4 = opened("ipcache4");
        BpfMap map6 = opened("ipcache6")) {
      final IpcacheEdits ipcache = new IpcacheEdits(map4, map6);
      assertEquals(0, ipcache.delete(address, 32));
      assertEquals(3, await(manager.ipcache().read()).size(), "reading adopts no difference");
      watch.awaitRepair(Kind.MAP_ENTRY, 1);
      assertTrue(isServed(true));
      assertEquals(0, ipcache.upsert(address, 32, 4711, CLIENT, 0));
      assertEquals(0, ipcache.upsert(0x0a4d0000, 24, CLIENT_IDENTITY, 0, 0));
      watch.awaitRepair(Kind.MAP_ENTRY, 3);
      assertTrue(isServed(true));
      assertEquals(2, map4.countEntries());
    }
    watch.awaitRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldClearWhatAnotherToolWritesIntoAnArray() {
    try (BpfMap map = opened("redirect_proxies")) {
      final EntryBuffer entry = new EntryBuffer(map);
      entry.key().putInt(0, RedirectKind.HTTP.number());
      entry.value().putInt(0, 10_000);
      assertEquals(0, map.update(entry, MapFlag.ANY));
      watch.awaitRepair(Kind.MAP_ENTRY, 1);
      assertEquals(0, map.lookup(entry));
      assertEquals(0, entry.value().getInt(0), "no proxy listens");
    }
    watch.awaitRight();
  }

  /** The verdict of the connection is one of before the change of policy. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Execution(ExecutionMode.CONCURRENT)
  void shouldCutConnectionsThatAFormerGenerationAllows(boolean isIpv6) throws Exception {
    attachServer(FROM_CLIENT);
    final String address = isIpv6 ? server.ipv6() : server.ipv4();
    final BpfMap map = manager.maps().find("generations").orElseThrow();
    try (TcpEchoServer echo = TcpEchoServer.start(server.namespace(), 8080);
        GenerationArray generations = new GenerationArray(map);
        TcpConnection connection = TcpConnection.open(client.namespace(), address, 8080)) {
      final long allowed = generations.get(SERVER);
      await(manager.policyMaps().synchronize(SERVER, List.of()));
      assertTrue(connection.isCutFor(400));
      final long denied = generations.get(SERVER);
      assertNotEquals(allowed, denied);
      watch.awaitRight();
      generations.put(SERVER, allowed);
      watch.awaitMessage("map generations: 1 generations with a wrong value; first: endpoint");
      assertEquals(Level.DEGRADED, watch.module().level());
      assertEquals(1, watch.repairs(Kind.MAP_ENTRY));
      assertEquals(denied + 1, generations.get(SERVER));
      assertTrue(connection.isCutFor(400));
      assertFalse(Ping.isAnswered(client.namespace(), address, 300));
      assertEquals(1, echo.connections());
    }
    assertRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldPinMapsAgain() throws IOException {
    attachServer(FROM_CLIENT);
    final List<String> before = node.pins();
    Files.delete(pin("conntrack4_tcp_v2"));
    Files.delete(pin("policy_%05d".formatted(SERVER)));
    Files.move(pin("policy_%05d".formatted(CLIENT)), pin("policy_%05d".formatted(SERVER)));
    watch.awaitRepair(Kind.MAP_PIN, 3);
    assertEquals(before, node.pins());
    for (final String name :
        List.of(
            "conntrack4_tcp_v2",
            "policy_%05d".formatted(SERVER),
            "policy_%05d".formatted(CLIENT))) {
      final int fd = BpfFileSystem.open(pin(name));
      assertEquals(
          manager.maps().find(name.replace("_v2", "")).orElseThrow().description().id(),
          MapDescription.of(fd).id());
      Descriptors.close(fd);
    }
    assertRight();
  }
}
