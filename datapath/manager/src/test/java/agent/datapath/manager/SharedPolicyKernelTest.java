package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Endpoints of one identity with equal entries use one policy map. */
@KernelTest
class SharedPolicyKernelTest {
  private static final int FIRST = 41;
  private static final int SECOND = 42;
  private static final int IDENTITY = 1001;
  private static final int ANSWERED_MS = 5000;
  private static final int CAPACITY = 16_384;
  private static final List<PolicyEntry> ALL = ManagerTestNode.allowAll();

  /** Drops all packets to the endpoint. */
  private static final PolicyDelta CLOSE =
      new PolicyDelta(List.of(), List.of(PolicyEntry.allowAll(0, PolicyDirection.INGRESS)));

  private ManagerTestNode node;
  private Workload first;
  private Workload second;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    first = node.workload(FIRST);
    second = node.workload(SECOND);
    manager = node.launch(node.context());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private void attach(int id, Workload workload, int identity) {
    await(manager.policyMaps().synchronize(id, identity, ALL));
    final EndpointSpec spec = ManagerTestNode.spec(id, workload, identity);
    await(manager.endpoints().attach(spec));
    ManagerTestNode.putAddresses(manager, spec);
  }

  private void attachBoth() {
    attach(FIRST, first, IDENTITY);
    attach(SECOND, second, IDENTITY);
  }

  private Map<Integer, RuntimeException> apply(int... ids) {
    return await(
        manager
            .policyMaps()
            .apply(
                java.util.Arrays.stream(ids)
                    .mapToObj(id -> new PolicyChange(id, IDENTITY, CLOSE))
                    .toList()));
  }

  private boolean isReached(Workload workload, boolean expected) throws Exception {
    return Ping.isAnswered(node.namespace(), workload.ipv4(), expected ? ANSWERED_MS : 300);
  }

  private void assertReached(boolean isFirst, boolean isSecond) throws Exception {
    assertEquals(isFirst, isReached(first, isFirst), "first");
    assertEquals(isSecond, isReached(second, isSecond), "second");
  }

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  /** Returns the names of the pinned policy maps. */
  private List<String> policyMaps() {
    return node.pins().stream()
        .filter(pin -> pin.startsWith("agent/maps/policy_"))
        .map(pin -> pin.substring("agent/maps/".length()))
        .toList();
  }

  private int policyOf(int id) {
    final EndpointMap endpoints = new EndpointMap(map("endpoints"));
    assertEquals(0, endpoints.lookup(id));
    return endpoints.found().policyId();
  }

  private long generation(int id) {
    return new agent.maps.kernel.GenerationArray(map("generations")).get(id);
  }

  @Test
  void shouldShareTheMapOfOneIdentityAndWriteNothingForANewEndpoint() throws Exception {
    attach(FIRST, first, IDENTITY);
    assertEquals(PolicyDelta.NONE, await(manager.policyMaps().synchronize(SECOND, IDENTITY, ALL)));
    attach(SECOND, second, IDENTITY);
    assertEquals(List.of("policy_00041"), policyMaps());
    assertEquals(FIRST, policyOf(FIRST));
    assertEquals(FIRST, policyOf(SECOND));
    assertTrue(new PolicyMapArray(map("policies")).mapId(SECOND) < 0, "its own slot is empty");
    assertReached(true, true);
  }

  @Test
  void shouldNotShareTheMapOfAnotherIdentityOrOfOtherEntries() {
    attach(FIRST, first, IDENTITY);
    attach(SECOND, second, IDENTITY + 1);
    assertEquals(List.of("policy_00041", "policy_00042"), policyMaps());
    await(manager.policyMaps().synchronize(43, IDENTITY, ALL.subList(0, 1)));
    await(manager.policyMaps().synchronize(44, 0, ALL));
    await(manager.policyMaps().synchronize(45, 0, ALL));
    assertEquals(5, policyMaps().size());
  }

  @Test
  void shouldChangeASharedMapInPlaceForAllItsEndpoints() throws Exception {
    attachBoth();
    final int id = map("policy_00041").description().id();
    final long before = generation(SECOND);
    assertReached(true, true);
    assertEquals(Map.of(), apply(FIRST, SECOND));
    assertReached(false, false);
    assertEquals(before + 1, generation(SECOND));
    assertEquals(List.of("policy_00041"), policyMaps());
    assertEquals(id, map("policy_00041").description().id());
  }

  @Test
  void shouldGiveAnEndpointThatChangesAloneAnotherMap() throws Exception {
    attachBoth();
    assertReached(true, true);
    assertEquals(Map.of(), apply(FIRST));
    assertReached(false, true);
    assertEquals(List.of("policy_00001", "policy_00041"), policyMaps());
    assertEquals(1, policyOf(FIRST));
    assertEquals(Map.of(), apply(SECOND));
    assertReached(false, false);
    assertEquals(List.of("policy_00001"), policyMaps(), "they are equal again");
    assertEquals(1, policyOf(SECOND));
  }

  @Test
  void shouldKeepAMapUntilItsLastEndpointIsDetached() throws Exception {
    attachBoth();
    assertEquals(List.of(), ManagerTestNode.detach(manager, FIRST));
    assertEquals(List.of("policy_00041"), policyMaps());
    assertTrue(isReached(second, true));
    assertEquals(List.of(), ManagerTestNode.detach(manager, SECOND));
    assertEquals(List.of(), policyMaps());
    assertTrue(new PolicyMapArray(map("policies")).mapId(FIRST) < 0);
  }

  /** A change ends in any case; nothing stays of an endpoint that is gone meanwhile. */
  @Test
  void shouldLeaveNoMapOfEndpointsThatAreDetachedDuringAChange() {
    attachBoth();
    final PolicyDelta many =
        new PolicyDelta(
            IntStream.range(0, CAPACITY / 2)
                .mapToObj(i -> PolicyEntry.allow(100 + i, PolicyDirection.EGRESS, 6, 80))
                .toList(),
            List.of());
    assertDetachedDuring(FIRST, many);
    assertEquals(List.of("policy_00041"), policyMaps(), "that of the other one");
    assertEquals(FIRST, policyOf(SECOND));
    assertDetachedDuring(SECOND, many);
    assertEquals(List.of(), policyMaps());
  }

  private void assertDetachedDuring(int id, PolicyDelta delta) {
    final CompletableFuture<?> changed =
        manager.policyMaps().apply(List.of(new PolicyChange(id, IDENTITY, delta)));
    final CompletableFuture<List<String>> detached = manager.endpoints().detach(id);
    await(changed);
    assertEquals(List.of(), await(detached));
    assertTrue(manager.endpointFaults().of(id).isEmpty());
  }

  /**
   * A new address of a name adds entries of its own identity: other flows stay on the fast path.
   */
  @Test
  void shouldKeepTheVerdictsWhereOnlyUnusedIdentitiesGainEntries() throws Exception {
    attachBoth();
    final PolicyDelta more = allowing(77);
    final long before = generation(FIRST);
    final long ofSecond = generation(SECOND);
    assertEquals(Map.of(), apply(new PolicyChange(FIRST, IDENTITY, more, true), more));
    assertEquals(before, generation(FIRST));
    assertEquals(ofSecond, generation(SECOND));
    assertEquals(1, policyMaps().size());
    assertEquals(
        List.of(77),
        await(manager.policyMaps().synchronize(FIRST, IDENTITY, ALL)).deletes().stream()
            .map(PolicyEntry::identity)
            .toList());
    final List<PolicyEntry> tooMany =
        IntStream.range(0, CAPACITY)
            .mapToObj(i -> PolicyEntry.allow(100 + i, PolicyDirection.EGRESS, 6, 80))
            .toList();
    final PolicyDelta refused = new PolicyDelta(tooMany, List.of());
    final long known = generation(FIRST);
    assertEquals(1, apply(new PolicyChange(FIRST, IDENTITY, refused, true), null).size());
    assertTrue(generation(FIRST) > known, "what it holds now is not known");
    await(manager.policyMaps().synchronize(FIRST, IDENTITY, ALL));
    final long split = generation(FIRST);
    assertEquals(Map.of(), apply(new PolicyChange(FIRST, IDENTITY, more), null));
    assertTrue(generation(FIRST) > split);
  }

  /** An address of the previous run may have the identity until all addresses are put. */
  @Test
  void shouldJudgeAgainWhereAnAddressOfThePreviousRunMayHaveTheIdentity() {
    attachBoth();
    final IpcacheEntry former = new IpcacheEntry(Prefix.parse("198.51.100.7/32"), 77, 0, false);
    await(manager.ipcache().apply(List.of(new IpcacheChange(null, former))));
    manager.close();
    manager = node.launch(node.context());
    attachBoth();
    final long before = generation(FIRST);
    final PolicyDelta first = allowing(77);
    assertEquals(Map.of(), apply(new PolicyChange(FIRST, IDENTITY, first, true), first));
    assertTrue(generation(FIRST) > before);
    await(manager.ipcache().synchronize(List.of()));
    final long compared = generation(FIRST);
    final PolicyDelta second = allowing(78);
    assertEquals(Map.of(), apply(new PolicyChange(FIRST, IDENTITY, second, true), second));
    assertEquals(compared, generation(FIRST));
  }

  private static PolicyDelta allowing(int identity) {
    return new PolicyDelta(
        List.of(PolicyEntry.allow(identity, PolicyDirection.EGRESS, 6, 80)), List.of());
  }

  private Map<Integer, RuntimeException> apply(PolicyChange first, PolicyDelta ofSecond) {
    final List<PolicyChange> changes =
        ofSecond == null
            ? List.of(first)
            : List.of(first, new PolicyChange(SECOND, IDENTITY, ofSecond, first.isUnused()));
    return await(manager.policyMaps().apply(changes));
  }

  @Test
  void shouldTakeOverASharedMapWithoutLosingAPacket() throws Exception {
    attachBoth();
    final int id = map("policy_00041").description().id();
    try (UdpEchoServer server = UdpEchoServer.start(second.namespace(), second.ipv4(), 8081);
        UdpStream stream = UdpStream.start(first.namespace(), second.ipv4(), 8081, 1)) {
      manager.close();
      manager = node.launch(node.context());
      assertEquals(
          PolicyDelta.NONE, await(manager.policyMaps().synchronize(SECOND, IDENTITY, ALL)));
      attachBoth();
      assertEquals(0, stream.stopAndCountLost(), "of " + stream.sent());
      assertTrue(server.datagrams() > 0);
    }
    assertEquals(List.of("policy_00041"), policyMaps());
    assertEquals(id, map("policy_00041").description().id());
    assertEquals(FIRST, policyOf(SECOND));
    assertEquals(Map.of(), apply(FIRST, SECOND));
    assertReached(false, false);
  }

  /** The first to be synchronized must not change what the other enforces. */
  @Test
  void shouldNotChangeATakenOverMapForOneOfItsEndpoints() throws Exception {
    attachBoth();
    manager.close();
    manager = node.launch(node.context());
    await(manager.policyMaps().synchronize(FIRST, IDENTITY, ALL.subList(1, 2)));
    attach(SECOND, second, IDENTITY);
    assertReached(false, true);
    assertEquals(2, policyMaps().size());
  }

  /** What the maps of the former run hold is not known yet: an addition leaves it as it is. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldAddToATakenOverMapForAllOfItsEndpointsOrForOne(boolean isForAll) throws Exception {
    attachBoth();
    manager.close();
    manager = node.launch(node.context());
    final PolicyEntry added = PolicyEntry.allow(7, PolicyDirection.INGRESS, 6, 80);
    final PolicyDelta gains = new PolicyDelta(List.of(added), List.of());
    final PolicyChange first = new PolicyChange(FIRST, IDENTITY, gains);
    assertEquals(Map.of(), apply(first, isForAll ? gains : null));
    assertReached(true, true);
    final List<PolicyEntry> after = new ArrayList<>(ALL);
    after.add(added);
    assertEquals(PolicyDelta.NONE, await(manager.policyMaps().synchronize(FIRST, IDENTITY, after)));
    assertEquals(
        PolicyDelta.NONE,
        await(manager.policyMaps().synchronize(SECOND, IDENTITY, isForAll ? after : ALL)));
    assertEquals(isForAll ? 1 : 2, policyMaps().size());
  }
}
