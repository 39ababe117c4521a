package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.Ipcache4Map;
import agent.maps.kernel.Ipcache6Map;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
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

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  private int generation(int endpointId) {
    try (GenerationArray generations = new GenerationArray(map("generations"))) {
      return generations.get(endpointId);
    }
  }

  @Test
  void shouldWriteDeniesInBeforeAllowsInBeforeAllowsOutBeforeDeniesOut() {
    final PolicyMapEntry oldAllow = allow(1);
    final PolicyMapEntry oldDeny = allow(2).denied();
    await(manager.proxy().synchronizePolicy(9, List.of(oldAllow, oldDeny)));
    final List<String> order = new ArrayList<>();
    map("policy_00009").writeListener(new Recorder(order));
    final int before = generation(9);
    await(
        manager
            .proxy()
            .applyPolicy(
                9,
                new PolicyMapDelta(
                    List.of(allow(3), allow(4).denied()), List.of(oldDeny, oldAllow))));
    assertEquals(List.of("deny 4", "allow 3", "delete 1", "delete 2"), order);
    assertEquals(before + 1, generation(9));
  }

  @Test
  void shouldReadBackWhatWasWrittenAndChangeOnlyWhatDiffers() {
    final List<PolicyMapEntry> first =
        List.of(
            allow(1),
            allow(2).denied(),
            PolicyMapEntry.allowAll(0, PolicyDirection.EGRESS),
            new PolicyMapEntry(7, PolicyDirection.EGRESS, TCP, 8192, 51, 0, 0),
            new PolicyMapEntry(8, PolicyDirection.INGRESS, TCP, 80, 64, 2, 11000));
    assertEquals(5, await(manager.proxy().synchronizePolicy(9, first)).upserts().size());
    assertTrue(await(manager.proxy().synchronizePolicy(9, first)).isEmpty());
    final List<PolicyMapEntry> second = List.of(allow(1).denied(), first.get(3), allow(5));
    final PolicyMapDelta change = await(manager.proxy().synchronizePolicy(9, second));
    assertEquals(List.of(allow(1).denied(), allow(5)), change.upserts());
    assertEquals(3, change.deletes().size());
    assertTrue(await(manager.proxy().synchronizePolicy(9, second)).isEmpty());
  }

  @Test
  void shouldReportAFullPolicyMapStillNarrowAndRetryWhatWasWanted() throws Exception {
    final List<PolicyMapEntry> full = new ArrayList<>();
    for (int i = 1; i <= 16_384; i++) {
      full.add(PolicyMapEntry.allow(i, PolicyDirection.INGRESS, TCP, 80));
    }
    await(manager.proxy().synchronizePolicy(9, full));
    final PolicyMapEntry deny = allow(99_999).denied();
    final PolicyMapEntry alsoWanted = allow(99_998);
    final Refusal refusal =
        assertThrows(
            Refusal.class,
            () ->
                await(
                    manager
                        .proxy()
                        .applyPolicy(
                            9,
                            new PolicyMapDelta(
                                List.of(deny, alsoWanted), List.of(full.getFirst())))));
    assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("map policy_00009: update ("), refusal.getMessage());
    assertTrue(
        refusal.getMessage().endsWith("ENOSPC, 16384 of 16384 entries"), refusal.getMessage());
    final PolicyMap policy = new PolicyMap(map("policy_00009"));
    assertTrue(policy.lookup(1, 0, TCP, 80, 64) < 0, "what narrows is done all the same");
    assertTrue(policy.lookup(99_998, 0, TCP, 80, 64) < 0, "what widens is not");
    final long deadline = System.currentTimeMillis() + 5000;
    while (manager.mirrors().unrealised() > 0 && System.currentTimeMillis() < deadline) {
      Thread.sleep(20);
    }
    assertEquals(0, manager.mirrors().unrealised());
    assertEquals(0, policy.lookup(99_999, 0, TCP, 80, 64), "there was room then");
    assertEquals(PolicyFlag.DENY.number(), policy.found().flags());
  }

  @Test
  void shouldRefusePolicyOfAnEndpointThatHasNoMap() {
    final Refusal refusal =
        assertThrows(
            Refusal.class, () -> await(manager.proxy().applyPolicy(77, PolicyMapDelta.EMPTY)));
    assertEquals(Refusal.Kind.NOT_FOUND, refusal.kind());
    assertThrows(Refusal.class, () -> manager.proxy().detachEndpoint(0));
    assertThrows(Refusal.class, () -> manager.proxy().detachEndpoint(65_536));
  }

  @Test
  void shouldKeepTheIpcacheAsItIsAskedFor() {
    final Prefix wide = Prefix.parse("198.51.100.0/24");
    final Prefix narrow = Prefix.parse("2001:db8:5::/48");
    final int before = generation(0);
    await(
        manager
            .proxy()
            .upsertIpcache(
                List.of(
                    new IpcacheEntry(wide, 16_777_217, 0, false),
                    new IpcacheEntry(Prefix.parse("192.0.2.1/32"), 1, 0, true),
                    new IpcacheEntry(narrow, 16_777_218, 0, false))));
    assertEquals(before + 1, generation(0));
    final Ipcache4Map ipcache4 = new Ipcache4Map(map("ipcache4"));
    final Ipcache6Map ipcache6 = new Ipcache6Map(map("ipcache6"));
    final IpAddress inside6 = IpAddress.parse("2001:db8:5::7");
    assertEquals(0, ipcache4.lookup((int) IpAddress.parse("198.51.100.9").low(), 32));
    assertEquals(16_777_217, ipcache4.found().identity());
    assertEquals(0, ipcache4.lookup((int) IpAddress.parse("192.0.2.1").low(), 32));
    assertEquals(1, ipcache4.found().flags());
    assertEquals(0, ipcache6.lookup(inside6.high(), inside6.low(), 128));
    assertEquals(16_777_218, ipcache6.found().identity());
    await(manager.proxy().removeIpcache(List.of(wide, Prefix.parse("203.0.113.0/24"))));
    assertTrue(ipcache4.lookup((int) IpAddress.parse("198.51.100.9").low(), 32) < 0);
    await(
        manager.proxy().synchronizeIpcache(List.of(new IpcacheEntry(wide, 16_777_300, 0, false))));
    assertEquals(0, ipcache4.lookup((int) IpAddress.parse("198.51.100.9").low(), 32));
    assertEquals(16_777_300, ipcache4.found().identity());
    assertTrue(ipcache6.lookup(inside6.high(), inside6.low(), 128) < 0);
    assertEquals(3 + before, generation(0));
  }

  @Test
  void shouldKeepTheAddressesOfAttachedEndpointsWhenTheIpcacheIsSynchronized() {
    final Workload workload = node.workload(41);
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(401, workload, 4001), ManagerTestNode.open());
    await(manager.proxy().synchronizeIpcache(List.of()));
    final Ipcache4Map ipcache4 = new Ipcache4Map(map("ipcache4"));
    assertEquals(0, ipcache4.lookup((int) IpAddress.parse(workload.ipv4()).low(), 32));
    assertEquals(4001, ipcache4.found().identity());
    assertEquals(401, ipcache4.found().endpointId());
    final int owner = generation(401) >>> 24;
    await(manager.proxy().detachEndpoint(401));
    assertEquals(owner + 1 & 0xff, generation(401) >>> 24, "its flows are nobody's");
    assertTrue(ipcache4.lookup((int) IpAddress.parse(workload.ipv4()).low(), 32) < 0);
  }

  @Test
  void shouldJudgeAnewTheFlowsOfAnEndpointThatLosesItsAddress() {
    final Workload workload = node.workload(42);
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(402, workload, 4002), ManagerTestNode.open());
    final Prefix address = Prefix.of(IpAddress.parse(workload.ipv4()));
    final int before = generation(402);
    await(manager.proxy().upsertIpcache(List.of(new IpcacheEntry(address, 7000, 0, false))));
    assertEquals(before + 1, generation(402));
    await(manager.proxy().upsertIpcache(List.of(new IpcacheEntry(address, 4002, 402, false))));
    assertEquals(before + 2, generation(402));
  }

  @Test
  void shouldLeaveTheFlowsOfAnAddressBehindWhenAnEndpointMovesToAnother() {
    final Workload workload = node.workload(44);
    final EndpointSpec spec = ManagerTestNode.spec(404, workload, 4004);
    ManagerTestNode.attach(manager, spec, ManagerTestNode.open());
    final int owner = generation(404) >>> 24;
    ManagerTestNode.attach(manager, spec, ManagerTestNode.open());
    assertEquals(owner, generation(404) >>> 24);
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
    ManagerTestNode.attach(manager, moved, ManagerTestNode.open());
    assertEquals(owner + 1 & 0xff, generation(404) >>> 24);
  }

  @Test
  void shouldJudgeAnewWhatWasOpenedWhileAnAttachmentFailed() {
    final Workload workload = node.workload(43);
    final EndpointSpec spec = ManagerTestNode.spec(403, workload, 4003);
    ManagerTestNode.attach(manager, spec, ManagerTestNode.open());
    final int before = generation(403);
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
    assertThrows(Refusal.class, () -> await(manager.proxy().attachEndpoint(elsewhere)));
    assertEquals(before + 1, generation(403));
    final EndpointMap endpoints = new EndpointMap(map("endpoints"));
    assertEquals(0, endpoints.lookup(403));
    assertEquals(spec.ifindex(), endpoints.found().ifindex());
  }

  @Test
  void shouldLeaveNoTraceOfAnEndpointWhoseInterfaceIsNotThere() {
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
    final Refusal refusal =
        assertThrows(Refusal.class, () -> await(manager.proxy().attachEndpoint(nowhere)));
    assertEquals(Refusal.Kind.FAILED, refusal.kind());
    assertTrue(refusal.getMessage().contains("lxcnowhere"), refusal.getMessage());
    assertTrue(refusal.getMessage().contains("ENODEV"), refusal.getMessage());
    final EndpointMap endpoints = new EndpointMap(map("endpoints"));
    assertEquals(0, endpoints.lookup(501));
    assertEquals(0, endpoints.found().ifindex());
    assertEquals(0, manager.status().endpoints());
    assertEquals(List.of(), await(manager.proxy().detachEndpoint(501)));
    assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("501")));
  }

  @Test
  void shouldAllocateNothingWhileItAppliesPolicy() throws Exception {
    await(manager.proxy().synchronizePolicy(9, ManagerTestNode.open()));
    final PolicyMapDelta in = new PolicyMapDelta(List.of(allow(1), allow(2).denied()), List.of());
    final PolicyMapDelta out = new PolicyMapDelta(List.of(), List.of(allow(1), allow(2).denied()));
    for (int i = 0; i < 3000; i++) {
      apply(in, out, 4);
    }
    Thread.sleep(2500); // the mirrors' store opens meanwhile
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

  private void apply(PolicyMapDelta in, PolicyMapDelta out, int times) {
    CompletableFuture<Void> last = null;
    for (int i = 0; i < times; i++) {
      manager.proxy().applyPolicy(9, in);
      last = manager.proxy().applyPolicy(9, out);
    }
    await(last);
  }

  private static PolicyMapEntry allow(int identity) {
    return PolicyMapEntry.allow(identity, PolicyDirection.INGRESS, TCP, 80);
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
