package agent.domain.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Balancing;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.PrefilterStore;
import agent.ipam.AddressFamily;
import agent.ipam.Ipam;
import agent.ipam.LeaseStore;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What of a node its parts are configured with, where the families differ. */
class NodeContextsTest {
  private static final Prefix RANGE4 = Prefix.parse("10.5.0.0/24");
  private static final Prefix RANGE6 = Prefix.parse("f00d::5:0:0/96");
  private static final IpAddress NODE4 = IpAddress.parse("192.0.2.1");
  private static final IpAddress NODE6 = IpAddress.parse("2001:db8::1");
  private static final IpAddress OWN4 = IpAddress.parse("198.51.100.7");
  private static final IpAddress OWN6 = IpAddress.parse("2001:db8:7::7");
  private static final FamilyAddressing IPV4 = FamilyAddressing.of(NODE4, RANGE4);
  private static final FamilyAddressing IPV6 = FamilyAddressing.of(NODE6, RANGE6);
  private static final NodeAddressing BOTH = new NodeAddressing(IPV4, IPV6);
  private static final NodeAddressing ONLY_IPV4 =
      new NodeAddressing(IPV4, FamilyAddressing.DISABLED);
  private static final NodeAddressing ONLY_IPV6 =
      new NodeAddressing(FamilyAddressing.DISABLED, IPV6);

  private static NodeContexts of(NodeAddressing addressing) {
    return new NodeContexts(addressing, Map.of("eth7", 7), Map.of());
  }

  private static DatapathContext datapath(NodeContexts node, String balancer) {
    return node.datapath(
        new DatapathContext(), MasqueradeOptions.OFF, balancer, true, PrefilterStore.inMemory());
  }

  @Test
  void shouldConfigureTheDatapathWithTheAddressesOfEachFamily() {
    final DatapathContext both = datapath(of(BOTH), null);
    assertEquals(RANGE4.address().plus(1), both.gateway4());
    assertEquals(RANGE6.address().plus(1), both.gateway6());
    assertEquals(NODE4, both.node4());
    assertEquals(NODE6, both.node6());
    assertTrue(both.enableIpv4() && both.enableIpv6());
    final DatapathContext ipv4 = datapath(of(ONLY_IPV4), null);
    assertTrue(ipv4.enableIpv4() && !ipv4.enableIpv6());
    assertNull(ipv4.gateway6());
    final DatapathContext ipv6 = datapath(of(ONLY_IPV6), null);
    assertTrue(!ipv6.enableIpv4() && ipv6.enableIpv6());
    assertNull(ipv6.gateway4());
  }

  @Test
  void shouldConfigureTheDatapathWithItsDevicesAndWhatItIsGiven() {
    final DatapathContext options = new DatapathContext();
    final PrefilterStore store = PrefilterStore.inMemory();
    for (final boolean bypassesStack : new boolean[] {true, false}) {
      assertSame(
          options, of(BOTH).datapath(options, MasqueradeOptions.OFF, null, bypassesStack, store));
      assertEquals(bypassesStack, options.bypassesStack());
    }
    assertSame(store, options.prefilterStore());
    assertEquals(Map.of("eth7", 7), options.devices());
    assertEquals(Balancing.NONE, options.balancing());
  }

  private static AddressPair sources(AddressPair ofDevice) {
    final NodeContexts node =
        new NodeContexts(
            BOTH, Map.of(), Map.of("eth7", ofDevice, "eth8", new AddressPair(OWN4, OWN6)));
    final Balancing balancing = datapath(node, "eth7").balancing();
    assertEquals("eth7", balancing.device());
    return balancing.sources();
  }

  @Test
  void shouldBalanceFromTheAddressOfTheNodeForAFamilyThatTheDeviceLacks() {
    assertEquals(new AddressPair(OWN4, OWN6), sources(new AddressPair(OWN4, OWN6)));
    assertEquals(new AddressPair(OWN4, NODE6), sources(new AddressPair(OWN4, null)));
    assertEquals(new AddressPair(NODE4, OWN6), sources(new AddressPair(null, OWN6)));
    assertEquals(new AddressPair(NODE4, NODE6), sources(AddressPair.NONE));
  }

  @Test
  void shouldAllocateFromTheRangesOfTheNodeAndNeverItsOwnAddresses() {
    final NodeAddressing inside =
        new NodeAddressing(
            FamilyAddressing.of(IpAddress.parse("10.5.0.2"), RANGE4),
            FamilyAddressing.of(IpAddress.parse("f00d::5:0:2"), RANGE6));
    final Ipam ipam =
        Ipam.open(of(inside).ipam(LeaseStore.inMemory(), CompletableFuture::runAsync));
    assertEquals(List.of(RANGE4, RANGE6), ipam.pools().getFirst().cidrs());
    final var given = ipam.allocate(AddressFamily.BOTH, "x", null, false);
    assertEquals("10.5.0.3", given.ipv4().orElseThrow().address().toString());
    assertEquals("10.5.0.1", given.ipv4().orElseThrow().gateway().toString());
    assertEquals("f00d::5:0:3", given.ipv6().orElseThrow().address().toString());
    assertEquals("f00d::5:0:1", given.ipv6().orElseThrow().gateway().toString());
  }

  @Test
  void shouldKeepLeasesInTheStoreThatItIsGiven() {
    final LeaseStore leases = LeaseStore.inMemory();
    Ipam.open(of(BOTH).ipam(leases, CompletableFuture::runAsync))
        .allocate(AddressFamily.IPV4, "kept", null, false);
    assertEquals("kept", leases.load().getFirst().owner());
  }

  @Test
  void shouldGiveLeasesOfTheFamiliesOfTheNode() {
    for (final NodeAddressing one : List.of(ONLY_IPV4, ONLY_IPV6)) {
      final Ipam ipam = Ipam.open(of(one).ipam(LeaseStore.inMemory(), CompletableFuture::runAsync));
      final var given = ipam.allocate(AddressFamily.BOTH, "x", null, false);
      assertEquals(one.ipv4().enabled(), given.ipv4().isPresent());
      assertEquals(one.ipv6().enabled(), given.ipv6().isPresent());
    }
  }

  /** Each family has a node of its own: the two options of the families are next to each other. */
  @ParameterizedTest
  @CsvSource({"true, false, [1]", "false, true, [28]", "true, true, '[1, 28]'"})
  void shouldAskForAddressesOfTheFamiliesThatTheNodeHas(boolean ipv4, boolean ipv6, String types)
      throws Exception {
    final NodeAddressing addressing =
        new NodeAddressing(family(ipv4, "10.5.0.0/16"), family(ipv6, "fd00:5::/64"));
    final Set<Integer> asked = new ConcurrentSkipListSet<>();
    try (DatagramSocket server = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      Thread.ofPlatform().daemon().start(() -> receive(server, asked));
      final CompletableFuture<?> answer =
          new NodeContexts(addressing, Map.of(), Map.of())
              .resolver(() -> List.of(address(server)))
              .resolve("a.b.");
      final long beginNs = System.nanoTime();
      assertThrows(ExecutionException.class, () -> answer.get(6, TimeUnit.SECONDS));
      final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
      assertTrue(tookMs > 1_500, "a server has 2 s, had " + tookMs + " ms");
    }
    assertEquals(types, asked.toString());
  }

  private static FamilyAddressing family(boolean isEnabled, String range) {
    return isEnabled ? FamilyAddressing.of(null, Prefix.parse(range)) : FamilyAddressing.DISABLED;
  }

  private static InetSocketAddress address(DatagramSocket server) {
    return new InetSocketAddress(server.getLocalAddress(), server.getLocalPort());
  }

  /** Notes the types of the questions for {@code a.b.}, and answers none. */
  private static void receive(DatagramSocket server, Set<Integer> types) {
    final byte[] question = new byte[512];
    try {
      while (true) {
        server.receive(new DatagramPacket(question, question.length));
        types.add(question[12 + 5] << 8 | question[12 + 5 + 1]);
      }
    } catch (IOException closed) {
      return;
    }
  }
}
