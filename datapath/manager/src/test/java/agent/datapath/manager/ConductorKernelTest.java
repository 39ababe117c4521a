package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.load.Shards;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.Ipcache4Map;
import agent.maps.kernel.Ipcache6Map;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.GenerationLayout;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.maps.mirror.MapVisitor;
import agent.maps.mirror.MapVisitor.DesiredAction;
import agent.maps.mirror.MapVisitor.MapSummary;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class ConductorKernelTest {
  private static final int TCP = 6;
  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void launch() {
    node = new ManagerTestNode();
    manager = node.launch(node.context());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private final Map<Integer, Long> seen = new HashMap<>();

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  private long generation(int endpointId) {
    try (GenerationArray generations = new GenerationArray(map("generations"))) {
      return generations.get(endpointId);
    }
  }

  /** An entry with the same key and another verdict. */
  private static PolicyEntry with(PolicyEntry entry, PolicyVerdict verdict) {
    final PolicyEntry.Key key = entry.key();
    return new PolicyEntry(
        key.identity(), key.direction(), key.protocol(), key.port(), key.prefixLength(), verdict);
  }

  @Test
  void shouldInsertDeniesThenAllowsAndDeleteAllowsThenDenies() {
    final PolicyEntry oldAllow = allow(1);
    final PolicyEntry oldDeny = with(allow(2), PolicyVerdict.DENY);
    await(manager.policyMaps().synchronize(9, List.of(oldAllow, oldDeny)));
    final List<String> order = new ArrayList<>();
    map("policy_00009").writeListener(new Recorder(order));
    final long before = generation(9);
    await(
        ManagerTestNode.apply(
            manager,
            9,
            new PolicyDelta(
                List.of(allow(3), with(allow(4), PolicyVerdict.DENY)),
                List.of(oldDeny, oldAllow))));
    assertEquals(List.of("deny 4", "allow 3", "delete 1", "delete 2"), order);
    assertEquals(before + 1, generation(9));
  }

  @Test
  void shouldWriteOnlyTheDifferenceToThePolicyMap() {
    final List<PolicyEntry> first =
        List.of(
            allow(1),
            with(allow(2), PolicyVerdict.DENY),
            PolicyEntry.allowAll(0, PolicyDirection.EGRESS),
            new PolicyEntry(7, PolicyDirection.EGRESS, TCP, 8192, 51, PolicyVerdict.ALLOW),
            new PolicyEntry(
                8, PolicyDirection.INGRESS, TCP, 80, 64, PolicyVerdict.redirect(11000)));
    assertEquals(5, await(manager.policyMaps().synchronize(9, first)).upserts().size());
    assertTrue(await(manager.policyMaps().synchronize(9, first)).isEmpty());
    final List<PolicyEntry> second =
        List.of(with(allow(1), PolicyVerdict.DENY), first.get(3), allow(5));
    final PolicyDelta change = await(manager.policyMaps().synchronize(9, second));
    assertEquals(List.of(with(allow(1), PolicyVerdict.DENY), allow(5)), change.upserts());
    assertEquals(3, change.deletes().size());
    assertTrue(await(manager.policyMaps().synchronize(9, second)).isEmpty());
  }

  @Test
  void shouldReplaceAndDeleteEntriesWhoseVerdictIsContradictory() {
    await(manager.policyMaps().synchronize(9, List.of()));
    final PolicyMap policy = new PolicyMap(map("policy_00009"));
    final int contradictory = PolicyFlag.DENY.number() | PolicyFlag.REDIRECT.number();
    for (int identity = 1; identity <= 2; identity++) {
      assertEquals(0, policy.upsert(identity, 0, TCP, 80, 64, contradictory, 0));
    }
    final PolicyEntry deny = with(allow(1), PolicyVerdict.DENY);
    assertEquals(
        new PolicyDelta(List.of(deny), List.of(with(allow(2), PolicyVerdict.DENY))),
        await(manager.policyMaps().synchronize(9, List.of(deny))));
    assertTrue(await(manager.policyMaps().synchronize(9, List.of(deny))).isEmpty());
  }

  @Test
  void shouldReportAFullPolicyMapAndStillDeleteAllowsAndRetryTheDeny() throws Exception {
    final List<PolicyEntry> full = new ArrayList<>();
    for (int i = 1; i <= 16_384; i++) {
      full.add(PolicyEntry.allow(i, PolicyDirection.INGRESS, TCP, 80));
    }
    await(manager.policyMaps().synchronize(9, full));
    final PolicyEntry deny = with(allow(99_999), PolicyVerdict.DENY);
    final PolicyEntry extraAllow = allow(99_998);
    final Refusal refusal =
        assertThrows(
            Refusal.class,
            () ->
                await(
                    ManagerTestNode.apply(
                        manager,
                        9,
                        new PolicyDelta(List.of(deny, extraAllow), List.of(full.getFirst())))));
    assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("map policy_00009: update ("), refusal.getMessage());
    assertTrue(
        refusal.getMessage().endsWith("ENOSPC, 16384 of 16384 entries"), refusal.getMessage());
    final PolicyMap policy = new PolicyMap(map("policy_00009"));
    assertTrue(policy.lookup(1, 0, TCP, 80, 64) < 0, "the delete of an allow is still executed");
    assertTrue(policy.lookup(99_998, 0, TCP, 80, 64) < 0, "the insert of an allow is skipped");
    awaitRefused(1, "the retry of the deny succeeds after the delete, and that of the allow not");
    assertEquals(0, policy.lookup(99_999, 0, TCP, 80, 64));
    assertEquals(PolicyFlag.DENY.number(), policy.found().flags());
    assertTrue(policy.lookup(99_998, 0, TCP, 80, 64) < 0);
    await(ManagerTestNode.apply(manager, 9, new PolicyDelta(List.of(), List.of(full.getLast()))));
    awaitRefused(0, "there is room for the allow");
    assertEquals(0, policy.lookup(99_998, 0, TCP, 80, 64));
  }

  /** Waits until so many writes are refused, the last of them that of a further entry. */
  private void awaitRefused(int count, String message) throws InterruptedException {
    final PolicyMap policy = new PolicyMap(map("policy_00009"));
    final int identity = count == 0 ? 99_998 : 99_999;
    final long deadline = System.currentTimeMillis() + 30_000;
    while ((policy.lookup(identity, 0, TCP, 80, 64) < 0 || refused() != count)
        && System.currentTimeMillis() < deadline) {
      Thread.sleep(20);
    }
    assertEquals(count, refused(), message);
    assertEquals(
        count == 0
            ? "the kernel has all desired map entries"
            : count + " map entries could not be written to the kernel; retrying",
        ManagerTestNode.health(manager, HealthModules.MAPS).message());
  }

  /** Returns how many entries of the policy map are shown as refused. */
  private int refused() {
    final int[] count = new int[1];
    final MapVisitor counting =
        new MapVisitor() {
          @Override
          public void onMap(MapSummary map, long mirroredAtMs) {}

          @Override
          public boolean onEntry(
              CharSequence key, CharSequence value, DesiredAction action, String lastError) {
            count[0] += action == DesiredAction.OK ? 0 : 1;
            return true;
          }
        };
    assertTrue(manager.mirrors().read("policy_00009", counting));
    return count[0];
  }

  /** What allows more waits for the deny that is to be there before it. */
  @Test
  void shouldNotAllowMoreAfterADenyThatIsRefused() {
    final PolicyEntry changed = with(allow(1), PolicyVerdict.DENY);
    final PolicyEntry removed = with(allow(2), PolicyVerdict.DENY);
    final List<PolicyEntry> full = new ArrayList<>(List.of(changed, removed));
    for (int i = 3; i <= 16_384; i++) {
      full.add(allow(i));
    }
    await(manager.policyMaps().synchronize(9, full));
    final PolicyEntry deny = with(allow(99_999), PolicyVerdict.DENY);
    final PolicyDelta delta = new PolicyDelta(List.of(deny, allow(1)), List.of(removed));
    assertThrows(Refusal.class, () -> await(ManagerTestNode.apply(manager, 9, delta)));
    final PolicyMap policy = new PolicyMap(map("policy_00009"));
    for (int identity = 1; identity <= 2; identity++) {
      assertEquals(0, policy.lookup(identity, 0, TCP, 80, 64));
      assertEquals(PolicyFlag.DENY.number(), policy.found().flags(), "identity " + identity);
    }
  }

  @Test
  void shouldRefusePolicyForAnEndpointWithoutAPolicyMap() {
    final Refusal refusal =
        assertThrows(
            Refusal.class, () -> await(ManagerTestNode.apply(manager, 77, PolicyDelta.NONE)));
    assertEquals(Refusal.Kind.NOT_FOUND, refusal.kind());
    assertThrows(Refusal.class, () -> manager.endpoints().detach(0));
    assertThrows(Refusal.class, () -> manager.endpoints().detach(65_536));
  }

  @Test
  void shouldWriteIpcacheChangesAndRaiseTheShardsUnderThem() {
    final IpcacheEntry wide = entry("198.51.100.0/24", 16_777_217, 0);
    final IpcacheEntry narrow = entry("2001:db8:5::/48", 16_777_218, 0);
    final IpcacheEntry host = new IpcacheEntry(Prefix.parse("192.0.2.1/32"), 1, 0, true);
    apply(change(null, host));
    assertEquals(Set.of("192.0.2.1"), raised("192.0.2.0", "192.0.2.1", "192.0.2.2"));
    apply(change(null, wide));
    assertEquals(
        Set.of("198.51.100.0", "198.51.100.255"),
        raised("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"));
    apply(change(null, narrow));
    assertEquals(
        Set.of("192.0.2.1", "2001:db8:5::7", "::1"), raised("192.0.2.1", "2001:db8:5::7", "::1"));
    final Ipcache4Map ipcache4 = new Ipcache4Map(map("ipcache4"));
    final Ipcache6Map ipcache6 = new Ipcache6Map(map("ipcache6"));
    final IpAddress inside6 = IpAddress.parse("2001:db8:5::7");
    assertEquals(0, ipcache4.lookup((int) IpAddress.parse("198.51.100.9").low(), 32));
    assertEquals(16_777_217, ipcache4.found().identity());
    assertEquals(0, ipcache4.lookup((int) IpAddress.parse("192.0.2.1").low(), 32));
    assertEquals(1, ipcache4.found().flags());
    assertEquals(0, ipcache6.lookup(inside6.high(), inside6.low(), 128));
    assertEquals(16_777_218, ipcache6.found().identity());
    assertEquals(Set.of(wide, narrow, host), Set.copyOf(await(manager.ipcache().read())));
    apply(change(wide, null), change(narrow, entry("2001:db8:5::/48", 16_777_300, 0)));
    assertTrue(ipcache4.lookup((int) IpAddress.parse("198.51.100.9").low(), 32) < 0);
    assertEquals(0, ipcache6.lookup(inside6.high(), inside6.low(), 128));
    assertEquals(16_777_300, ipcache6.found().identity());
    apply();
    assertEquals(Set.of("::1"), raised("::1"), "a prefix of 48 bits raises all");
    apply();
    assertEquals(Set.of(), raised("::1", "192.0.2.1"), "an empty change raises no generation");
  }

  /** Returns the addresses whose shards were raised since the last call. */
  private Set<String> raised(String... addresses) {
    final Set<String> raised = new HashSet<>();
    for (final String address : addresses) {
      final int index = GenerationLayout.OUTSIDE + Shards.of(IpAddress.parse(address));
      final long now = generation(index);
      if (seen.getOrDefault(index, seed()) != now) {
        raised.add(address);
      }
    }
    try (GenerationArray generations = new GenerationArray(map("generations"))) {
      for (int index = GenerationLayout.OUTSIDE; index < GenerationLayout.MAX; index++) {
        seen.put(index, generations.get(index));
      }
    }
    return raised;
  }

  /** Returns the generation with which all began: that of an id that no endpoint has had. */
  private long seed() {
    return generation(65_000);
  }

  @Test
  void shouldNotRaiseTheGenerationsOfTheOutsideWhenAnEndpointIsAttachedOrRelabelled() {
    final Workload workload = node.workload(41);
    final EndpointSpec spec = ManagerTestNode.spec(401, workload, 4001);
    raised();
    await(manager.policyMaps().synchronize(401, ManagerTestNode.allowAll()));
    await(manager.endpoints().attach(spec));
    await(manager.endpoints().setIdentity(401, 4002));
    assertEquals(
        Set.of(),
        raised(workload.ipv4(), workload.ipv6(), "::1"),
        "only ipcache changes raise them");
    assertEquals(List.of(), await(manager.ipcache().read()));
    final long owner = generation(401) >>> 32;
    assertEquals(List.of(), ManagerTestNode.detach(manager, 401));
    assertEquals(owner + 1, generation(401) >>> 32, "the owner part changes");
  }

  @Test
  void shouldRaiseTheGenerationOfAnEndpointThatLosesItsAddress() {
    final Workload workload = node.workload(42);
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(402, workload, 4002), ManagerTestNode.allowAll());
    final IpcacheEntry own = entry(workload.ipv4() + "/32", 4002, 402);
    final IpcacheEntry other = entry(workload.ipv4() + "/32", 7000, 0);
    final long before = generation(402);
    apply(change(own, other));
    assertEquals(before + 1, generation(402));
    apply(change(other, own));
    assertEquals(before + 2, generation(402));
  }

  private static IpcacheEntry entry(String prefix, int identity, int endpointId) {
    return new IpcacheEntry(Prefix.parse(prefix), identity, endpointId, false);
  }

  private static IpcacheChange change(IpcacheEntry before, IpcacheEntry after) {
    return new IpcacheChange(before, after);
  }

  private void apply(IpcacheChange... changes) {
    await(manager.ipcache().apply(List.of(changes)));
  }

  @Test
  void shouldChangeTheOwnerPartWhenAnEndpointChangesItsAddress() {
    final Workload workload = node.workload(44);
    final EndpointSpec spec = ManagerTestNode.spec(404, workload, 4004);
    ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
    final long owner = generation(404) >>> 32;
    ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
    assertEquals(owner, generation(404) >>> 32);
    final EndpointSpec moved =
        new EndpointSpec(
            404,
            spec.ifindex(),
            spec.interfaceName(),
            IpAddress.parse("10.77.0.98"),
            spec.ipv6(),
            spec.mac(),
            spec.hostMac(),
            spec.identity(),
            spec.options(),
            0);
    ManagerTestNode.attach(manager, moved, ManagerTestNode.allowAll());
    assertEquals(owner + 1, generation(404) >>> 32);
  }

  @Test
  void shouldRaiseTheGenerationAndRestoreTheEntryWhenAnAttachmentFails() {
    final Workload workload = node.workload(43);
    final EndpointSpec spec = ManagerTestNode.spec(403, workload, 4003);
    ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
    final long before = generation(403);
    final EndpointSpec elsewhere =
        new EndpointSpec(
            403,
            99_999,
            "lxcnowhere",
            spec.ipv4(),
            spec.ipv6(),
            spec.mac(),
            spec.hostMac(),
            spec.identity(),
            spec.options(),
            0);
    assertThrows(OperationException.class, () -> await(manager.endpoints().attach(elsewhere)));
    assertEquals(before + 1, generation(403));
    final EndpointMap endpoints = new EndpointMap(map("endpoints"));
    assertEquals(0, endpoints.lookup(403));
    assertEquals(spec.ifindex(), endpoints.found().ifindex());
  }

  @Test
  void shouldRemoveTheStateOfAnEndpointWhoseInterfaceDoesNotExist() {
    final EndpointSpec nowhere =
        new EndpointSpec(
            501,
            99_999,
            "lxcnowhere",
            IpAddress.parse("10.77.0.99"),
            null,
            MacAddress.parse("02:00:00:00:00:01"),
            MacAddress.parse("02:00:00:00:00:02"),
            5001,
            ManagerTestNode.OPTIONS,
            0);
    final OperationException failure =
        assertThrows(OperationException.class, () -> await(manager.endpoints().attach(nowhere)));
    assertTrue(failure.getMessage().contains("lxcnowhere"), failure.getMessage());
    assertTrue(failure.getMessage().contains("ENODEV"), failure.getMessage());
    final EndpointMap endpoints = new EndpointMap(map("endpoints"));
    assertEquals(0, endpoints.lookup(501));
    assertEquals(0, endpoints.found().ifindex());
    assertEquals(0, manager.status().endpoints());
    assertEquals(List.of(), ManagerTestNode.detach(manager, 501));
    assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("501")));
  }

  @Test
  void shouldAllocateNothingWhileItAppliesPolicy() throws Exception {
    await(manager.policyMaps().synchronize(9, ManagerTestNode.allowAll()));
    final PolicyDelta in =
        new PolicyDelta(List.of(allow(1), with(allow(2), PolicyVerdict.DENY)), List.of());
    final PolicyDelta out =
        new PolicyDelta(List.of(), List.of(allow(1), with(allow(2), PolicyVerdict.DENY)));
    for (int i = 0; i < 3000; i++) {
      apply(in, out, 4);
    }
    assertEquals(0, refused()); // from now on the conductor reports its writes to the mirror
    Thread.sleep(2500); // dp-mirror opens its store and copies the map
    assertEquals(0, refused());
    for (int i = 0; i < 500; i++) {
      apply(in, out, 4);
    }
    final Thread conductor = thread("dp-conductor");
    final long allocated =
        HeapAllocation.steady(
            conductor,
            () -> {
              apply(in, out, 500);
              Thread.sleep(300);
            });
    assertEquals(0, allocated, "bytes on dp-conductor for 1000 changes and its idle cycles");
  }

  private static Thread thread(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private void apply(PolicyDelta in, PolicyDelta out, int times) {
    CompletableFuture<Void> last = null;
    for (int i = 0; i < times; i++) {
      ManagerTestNode.apply(manager, 9, in);
      last = ManagerTestNode.apply(manager, 9, out);
    }
    await(last);
  }

  private static PolicyEntry allow(int identity) {
    return PolicyEntry.allow(identity, PolicyDirection.INGRESS, TCP, 80);
  }

  private record Recorder(List<String> order) implements MapWriteListener {
    @Override
    public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
      final boolean isDeny =
          new PolicyEntryFlyweight().wrap(copy(value), 0).flags() == PolicyFlag.DENY.number();
      order.add((isDeny ? "deny " : "allow ") + identity(key));
    }

    @Override
    public void onDelete(BpfMap map, DirectBuffer key, int result) {
      order.add("delete " + identity(key));
    }

    @Override
    public void onBulkWrite(BpfMap map) {
      order.add("bulk");
    }

    private static int identity(DirectBuffer key) {
      return new PolicyKeyFlyweight().wrap(copy(key), 0).identity();
    }

    private static MutableDirectBuffer copy(DirectBuffer buffer) {
      final byte[] bytes = new byte[buffer.capacity()];
      buffer.getBytes(0, bytes);
      return new UnsafeBuffer(bytes);
    }
  }
}
