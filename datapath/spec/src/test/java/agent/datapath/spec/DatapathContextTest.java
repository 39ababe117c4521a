package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointAttachmentProxy.HostInterface;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.maps.layout.PolicyDirection;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The limits of options and of what the datapath is asked for. */
class DatapathContextTest {
  private static final IpAddress IPV4 = IpAddress.parse("10.5.0.1");
  private static final IpAddress IPV6 = IpAddress.parse("f00d::1");
  private static final MacAddress MAC = MacAddress.of(7);

  private static DatapathContext context() {
    return new DatapathContext()
        .bpfRoot(Path.of("/sys/fs/bpf/agent"))
        .libDirectory(Path.of("/var/run/agent"))
        .gateway4(IPV4)
        .gateway6(IPV6);
  }

  private static void assertAccepted(Consumer<DatapathContext> change) {
    final DatapathContext context = context();
    change.accept(context);
    assertSame(context, context.conclude());
    assertSame(context, context.conclude(), "a second time changes nothing");
  }

  private static void assertRefused(String message, Consumer<DatapathContext> change) {
    final DatapathContext context = context();
    change.accept(context);
    final String found =
        assertThrows(IllegalArgumentException.class, context::conclude).getMessage();
    assertTrue(found.startsWith(message), found);
  }

  @Test
  void shouldRefuseOptionsOutsideTheirRange() {
    assertAccepted(context -> context.conntrackGcIntervalSec(1));
    assertAccepted(context -> context.conntrackGcIntervalSec(24 * 3600));
    assertAccepted(context -> context.flowSharePercent(1));
    assertAccepted(context -> context.flowSharePercent(10_000));
    assertAccepted(context -> context.eventsPerSecond(0));
    assertAccepted(context -> context.payloadBytes(0));
    assertAccepted(context -> context.payloadBytes(65_535));
    for (final int seconds : new int[] {0, 24 * 3600 + 1}) {
      assertRefused(
          "conntrack-garbage-collector-interval: " + seconds,
          context -> context.conntrackGcIntervalSec(seconds));
    }
    assertRefused("bpf-ct-global-tcp-max: 0", context -> context.conntrackTcpMax(0));
    assertRefused("bpf-ct-global-any-max: 0", context -> context.conntrackAnyMax(0));
    assertRefused("bpf-root: 'bpf'", context -> context.bpfRoot(Path.of("bpf")));
  }

  @Test
  void shouldBoundTheSizesOfMaps() {
    assertAccepted(context -> context.conntrackTcpMax(1024).conntrackAnyMax(1024));
    assertAccepted(context -> context.conntrackTcpMax(1 << 24).conntrackAnyMax(1 << 24));
    assertAccepted(context -> context.policyMapMax(256).maxPrefixes(1));
    assertAccepted(context -> context.policyMapMax(1 << 20).maxPrefixes(2_000_000));
    for (final int size : new int[] {1023, (1 << 24) + 1}) {
      assertRefused("bpf-ct-global-tcp-max: " + size, context -> context.conntrackTcpMax(size));
      assertRefused("bpf-ct-global-any-max: " + size, context -> context.conntrackAnyMax(size));
    }
    for (final int size : new int[] {255, (1 << 20) + 1}) {
      assertRefused("bpf-policy-map-max: " + size, context -> context.policyMapMax(size));
    }
    assertAccepted(context -> context.serviceTableMax(0));
    assertAccepted(context -> context.serviceTableMax(16_381));
    for (final int size : new int[] {-1, 250, 16_382}) {
      assertRefused("service-table-size: " + size, context -> context.serviceTableMax(size));
    }
    for (final int size : new int[] {0, 2_000_001}) {
      assertRefused("max-prefixes: " + size, context -> context.maxPrefixes(size));
    }
  }

  @Test
  void shouldBoundSharesAndRates() {
    for (final int percent : new int[] {0, 10_001}) {
      assertRefused(
          "conntrack-endpoint-share: " + percent, context -> context.flowSharePercent(percent));
    }
    assertRefused("endpoint-event-rate: -1", context -> context.eventsPerSecond(-1));
    assertRefused("trace-payloadlen: -1", context -> context.payloadBytes(-1));
    assertRefused("trace-payloadlen: 65536", context -> context.payloadBytes(65_536));
  }

  @Test
  void shouldNeedItsFolders() {
    for (final DatapathContext context :
        List.of(context().bpfRoot(null), context().libDirectory(null))) {
      assertThrows(NullPointerException.class, context::conclude);
    }
  }

  private static DatapathContext whole(PrefilterStore store, ThreadFactory threads) {
    return new DatapathContext()
        .bpfRoot(Path.of("/bpf"))
        .libDirectory(Path.of("/lib/agent"))
        .keepsSources(true)
        .preallocates(false)
        .tcMode(TcMode.CLSACT)
        .devices(Map.of("eth0", 2))
        .prefilterDevice("eth1")
        .prefilterMode(PrefilterMode.GENERIC)
        .prefilterStore(store)
        .enableServices(false)
        .cgroupRoot(Path.of("/cgroup"))
        .serviceTableMax(509)
        .enableIpv4(true)
        .enableIpv6(true)
        .gateway4(IPV4)
        .gateway6(IPV6)
        .node4(IpAddress.parse("192.0.2.7"))
        .node6(IpAddress.parse("2001:db8::7"))
        .worldIdentity4(19)
        .worldIdentity6(20)
        .conntrackTcpMax(2000)
        .conntrackAnyMax(3000)
        .policyMapMax(400)
        .conntrackGcIntervalSec(7)
        .flowSharePercent(40)
        .eventsPerSecond(70)
        .payloadBytes(60)
        .maxPrefixes(50)
        .conntrackLifetimes(new ConntrackLifetimes(1, 2, 3, 4))
        .bypassesStack(false)
        .compileDebug(true)
        .clangCandidates(List.of("clang-23"))
        .nanoClock(() -> 11)
        .epochClock(() -> 12)
        .threadFactory(threads)
        .conclude();
  }

  @Test
  void shouldReturnWhatIsSet() {
    final PrefilterStore store = PrefilterStore.inMemory();
    final ThreadFactory threads = Thread::new;
    final DatapathContext context = whole(store, threads);
    assertFalse(context.enableServices());
    assertTrue(context().enableServices());
    assertEquals(Path.of("/cgroup"), context.cgroupRoot());
    assertEquals(509, context.serviceTableMax());
    assertEquals(Path.of("/bpf"), context.bpfRoot());
    assertEquals(Path.of("/lib/agent"), context.libDirectory());
    assertTrue(context.keepsSources());
    assertFalse(context.preallocates());
    assertEquals(TcMode.CLSACT, context.tcMode());
    assertEquals("eth1", context.prefilterDevice());
    assertEquals(PrefilterMode.GENERIC, context.prefilterMode());
    assertSame(store, context.prefilterStore());
    assertEquals(IPV4, context.gateway4());
    assertEquals(IPV6, context.gateway6());
    assertEquals(IpAddress.parse("192.0.2.7"), context.node4());
    assertEquals(IpAddress.parse("2001:db8::7"), context.node6());
    assertEquals(List.of(19, 20), List.of(context.worldIdentity4(), context.worldIdentity6()));
    assertEquals(
        List.of(2000, 3000), List.of(context.conntrackTcpMax(), context.conntrackAnyMax()));
    assertEquals(List.of(400, 50), List.of(context.policyMapMax(), context.maxPrefixes()));
    assertEquals(7, context.conntrackGcIntervalSec());
    assertEquals(List.of(40, 70), List.of(context.flowSharePercent(), context.eventsPerSecond()));
    assertEquals(60, context.payloadBytes());
    assertEquals(new ConntrackLifetimes(1, 2, 3, 4), context.conntrackLifetimes());
    assertFalse(context.bypassesStack());
    assertTrue(context.compileDebug());
    assertEquals(List.of("clang-23"), context.clangCandidates());
    assertEquals(
        List.of(11L, 12L), List.of(context.nanoClock().nanoTime(), context.epochClock().time()));
    assertSame(threads, context.threadFactory());
  }

  @Test
  void shouldBeReadyForANodeWithoutOptions() {
    final DatapathContext context = context().conclude();
    assertFalse(context.keepsSources());
    assertTrue(context.preallocates());
    assertEquals(TcMode.AUTO, context.tcMode());
    assertNull(context.prefilterDevice());
    assertEquals(PrefilterMode.NATIVE, context.prefilterMode());
    assertTrue(context.enableIpv4() && context.enableIpv6());
    assertEquals(IPV4, context.node4(), "the gateway");
    assertEquals(IPV6, context.node6(), "the gateway");
    assertTrue(context.bypassesStack());
    assertEquals("clang-19", context.clangCandidates().getFirst(), "as the shipped objects");
    assertTrue(context.clangCandidates().contains("clang"));
    assertTrue(context.threadFactory().newThread(() -> {}).isDaemon());
  }

  @Test
  void shouldNeedAGatewayOfEachEnabledFamily() {
    assertRefused("enable-ipv4: both", context -> context.enableIpv4(false).enableIpv6(false));
    assertRefused("gateway4", context -> context.gateway4(null));
    assertRefused("gateway6", context -> context.gateway6(null));
    assertRefused("gateway4", context -> context.gateway4(IPV6));
    assertRefused("gateway6", context -> context.gateway6(IPV4));
    assertRefused("node4", context -> context.node4(IPV6));
    assertRefused("node6", context -> context.node6(IPV4));
    assertAccepted(context -> context.enableIpv4(false).gateway4(null));
    assertAccepted(context -> context.enableIpv6(false).gateway6(null));
  }

  @Test
  void shouldNeedAStoreForAPrefilter() {
    assertRefused("prefilter-device", context -> context.prefilterDevice("eth0"));
    final PrefilterStore store = PrefilterStore.inMemory();
    assertAccepted(context -> context.prefilterDevice("eth0").prefilterStore(store));
    assertEquals(Optional.empty(), store.load());
    store.store(PrefilterList.EMPTY);
    assertEquals(Optional.of(PrefilterList.EMPTY), store.load());
  }

  @Test
  void shouldNotChangeOnceItIsConcluded() {
    final DatapathContext context =
        context().devices(Map.of("eth0", 2)).compileDebug(true).conclude();
    assertThrows(IllegalStateException.class, () -> context.devices(Map.of("eth1", 3)));
    assertEquals(Map.of("eth0", 2), context.devices());
    assertTrue(context.compileDebug());
    assertFalse(context().compileDebug());
    assertEquals(Path.of("/sys/fs/bpf/agent"), context.bpfRoot());
    assertEquals(Path.of("/var/run/agent"), context.libDirectory());
    assertEquals(60, context.conntrackGcIntervalSec());
    assertTrue(context.conntrackTcpMax() > 0 && context.conntrackAnyMax() > 0);
  }

  @Test
  void shouldRefuseALifetimeBelowOneSecond() {
    assertEquals(1, new ConntrackLifetimes(1, 1, 1, 1).anySec());
    for (int i = 0; i < 4; i++) {
      final int[] sec = {1, 1, 1, 1};
      sec[i] = 0;
      assertThrows(
          IllegalArgumentException.class,
          () -> new ConntrackLifetimes(sec[0], sec[1], sec[2], sec[3]));
    }
  }

  private static EndpointSpec endpoint(int id, int ifindex, int aggregation) {
    return new EndpointSpec(id, ifindex, "lxc1", IPV4, IPV6, MAC, MAC, 300, 5, aggregation);
  }

  @Test
  void shouldRefuseEndpointsOutsideTheirRange() {
    assertEquals(1, endpoint(1, 1, 0).ifindex());
    assertEquals(EndpointSpec.MAX_ID, endpoint(EndpointSpec.MAX_ID, 1, 3).id());
    assertEquals(12, EndpointSpec.requireId(12));
    for (final int id : new int[] {0, EndpointSpec.MAX_ID + 1}) {
      assertEquals("id", assertThrows(Refusal.class, () -> endpoint(id, 1, 0)).field());
      assertThrows(Refusal.class, () -> new IpcacheEntry(Prefix.of(IPV4), 300, id + 70_000, false));
    }
    assertEquals("interface-index", assertThrows(Refusal.class, () -> endpoint(1, 0, 0)).field());
    for (final int level : new int[] {-1, 4}) {
      assertThrows(Refusal.class, () -> endpoint(1, 1, level));
    }
    assertEquals(
        "addressing.ipv4",
        assertThrows(
                Refusal.class,
                () -> new EndpointSpec(1, 1, "lxc1", IPV6, IPV6, MAC, MAC, 300, 5, 0))
            .field());
    assertEquals(
        "addressing.ipv6",
        assertThrows(
                Refusal.class,
                () -> new EndpointSpec(1, 1, "lxc1", IPV4, IPV4, MAC, MAC, 300, 5, 0))
            .field());
    assertEquals(endpoint(1, 1, 0), endpoint(1, 1, 0).withIdentity(300));
    assertEquals(301, endpoint(1, 1, 0).withIdentity(301).identity());
  }

  /** A host side is the same by its links, or by index and address where it has none. */
  @Test
  void shouldKnowAHostSideByItsIndexAndItsLinksOrAddress() {
    assertTrue(new HostInterface(5, null, true).is(5, MAC));
    assertTrue(new HostInterface(5, MAC, false).is(5, MAC));
    assertFalse(new HostInterface(5, MAC, false).is(5, MacAddress.of(8)));
    assertFalse(new HostInterface(5, MAC, true).is(6, MAC));
    assertFalse(new HostInterface(0, MAC, true).is(0, MAC));
  }

  @Test
  void shouldChangeOneIpcacheEntryAtATime() {
    final IpcacheEntry one = new IpcacheEntry(Prefix.of(IPV4), 300, 12, false);
    final IpcacheEntry other = new IpcacheEntry(Prefix.of(IPV6), 300, 12, false);
    assertEquals(one.prefix(), new IpcacheChange(one, null).prefix());
    assertEquals(one.prefix(), new IpcacheChange(null, one).prefix());
    assertEquals(one.prefix(), new IpcacheChange(one, one).prefix());
    assertThrows(IllegalArgumentException.class, () -> new IpcacheChange(null, null));
    assertThrows(IllegalArgumentException.class, () -> new IpcacheChange(one, other));
  }

  @Test
  void shouldTellChangesThatOneMapOfTwoEndpointsCanMake() {
    final PolicyDelta delta =
        new PolicyDelta(List.of(PolicyEntry.allow(7, PolicyDirection.EGRESS, 6, 443)), List.of());
    final PolicyChange change = new PolicyChange(1, 300, delta);
    assertTrue(change.isAlike(new PolicyChange(2, 300, delta)));
    assertFalse(change.isAlike(new PolicyChange(1, 301, delta)));
    assertFalse(change.isAlike(new PolicyChange(1, 300, PolicyDelta.NONE)));
  }

  @Test
  void shouldTellAnEmptyChangeAndKindsOfVerdicts() {
    final PolicyEntry entry = PolicyEntry.allow(7, PolicyDirection.EGRESS, 6, 443);
    assertFalse(entry.isDeny());
    assertTrue(new PolicyEntry(7, PolicyDirection.EGRESS, 6, 443, 64, PolicyVerdict.DENY).isDeny());
    assertFalse(new PolicyDelta(List.of(entry), List.of()).isEmpty());
    assertFalse(new PolicyDelta(List.of(), List.of(entry)).isEmpty());
    assertTrue(PolicyDelta.NONE.isEmpty());
    assertFalse(PolicyVerdict.ALLOW.isRedirect());
    assertFalse(PolicyVerdict.DENY.isRedirect());
  }
}
