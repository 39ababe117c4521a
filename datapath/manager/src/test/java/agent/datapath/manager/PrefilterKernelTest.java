package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Prefilter;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.PrefilterList;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Packets;
import agent.testkit.Ping;
import agent.testkit.UdpEchoServer;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@KernelTest
class PrefilterKernelTest {
  private static final int XDP_DROP = AttachedPrefilter.DROP;
  private static final int XDP_PASS = AttachedPrefilter.PASS;
  private static final String DEVICE = "up0";

  private ManagerTestNode node;
  private NetworkNamespace outside;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    outside = NetworkNamespace.create("out");
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
    node.namespace()
        .ip(
            "address add 192.0.2.1/24 dev " + DEVICE,
            "address add 2001:db8::1/64 dev " + DEVICE + " nodad");
    outside.ip(
        "address add 192.0.2.2/24 dev net0",
        "address add 192.0.2.200/24 dev net0",
        "address add 2001:db8::2/64 dev net0 nodad");
  }

  @AfterEach
  void remove() throws IOException {
    outside.close();
    node.close();
  }

  private DatapathManager launch(PrefilterMode mode) {
    return node.launch(node.context().prefilterDevice(DEVICE).prefilterMode(mode));
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsOfListedSourcesUntilTheyAreRemoved(PrefilterMode mode) {
    try (DatapathManager manager = launch(mode)) {
      assertEquals(mode, manager.status().prefilterMode());
      final Prefilter prefilter = manager.prefilter();
      final List<Prefix> both =
          List.of(Prefix.parse("192.0.2.0/27"), Prefix.parse("2001:db8::2/128"));
      assertTrue(Ping.isAnswered(outside, "192.0.2.1", 2000));
      assertTrue(Ping.isAnswered(outside, "2001:db8::1", 2000));
      prefilter.add(OptionalLong.empty(), both);
      assertFalse(Ping.isAnswered(outside, "192.0.2.1", 300));
      assertFalse(Ping.isAnswered(outside, "2001:db8::1", 300));
      assertTrue(drops(manager) >= 2);
      prefilter.remove(OptionalLong.empty(), both);
      assertTrue(Ping.isAnswered(outside, "192.0.2.1", 2000));
      assertTrue(Ping.isAnswered(outside, "2001:db8::1", 2000));
    }
  }

  @Test
  void shouldFilterJumboFramesInNativeMode() throws Exception {
    node.namespace().exec("ip", "link", "set", DEVICE, "mtu", "9000");
    outside.exec("ip", "link", "set", "net0", "mtu", "9000");
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        UdpEchoServer server = UdpEchoServer.start(node.namespace(), "192.0.2.1", 4000)) {
      assertTrue(isEchoed(8000));
      manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.2/32")));
      assertFalse(isEchoed(8000));
      assertEquals(1, server.datagrams());
      assertTrue(drops(manager) >= 1);
    }
  }

  private boolean isEchoed(int bytes) throws Exception {
    return outside.run(
        () -> {
          try (DatagramSocket socket = new DatagramSocket(new InetSocketAddress("192.0.2.2", 0))) {
            socket.setSoTimeout(1000);
            socket.send(
                new DatagramPacket(
                    new byte[bytes], bytes, new InetSocketAddress("192.0.2.1", 4000)));
            final DatagramPacket answer = new DatagramPacket(new byte[bytes + 1], bytes + 1);
            socket.receive(answer);
            return answer.getLength() == bytes;
          } catch (SocketTimeoutException none) {
            return false;
          }
        });
  }

  @Test
  void shouldRaiseTheRevisionOnlyWhereTheListChanges() throws IOException {
    final List<Prefix> two = List.of(Prefix.parse("192.0.2.0/24"), Prefix.parse("fd00::/64"));
    final OptionalLong any = OptionalLong.empty();
    try (DatapathManager manager = launch(PrefilterMode.GENERIC)) {
      assertEquals(1, manager.prefilter().add(any, List.of()).revision());
      assertEquals(1, manager.prefilter().remove(any, two).revision());
      assertEquals(2, manager.prefilter().add(any, two).revision());
      assertEquals(2, manager.prefilter().add(any, two).revision());
      assertEquals(2, manager.prefilter().remove(any, List.of()).revision());
      assertEquals(3, manager.prefilter().remove(any, two).revision());
      assertEquals(3, manager.prefilter().get().revision());
    }
  }

  @Test
  void shouldDropExactlyTheSourcesOfTenThousandPrefixes() throws IOException {
    final Random random = new Random(7);
    final List<Prefix> deny = randomPrefixes(random, 10_000);
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      final PrefilterList list = manager.prefilter().add(OptionalLong.of(1), deny);
      assertEquals(2, list.revision());
      assertEquals(list, manager.prefilter().get());
      assertEquals(list, node.prefilterStore().load().orElseThrow());
      for (final Prefix prefix : deny) {
        assertEquals(XDP_DROP, attached.verdict(prefix.address()), prefix::toString);
        assertEquals(XDP_DROP, attached.verdict(prefix.last()), prefix::toString);
      }
      final List<Prefix> removed = deny.subList(0, 5000);
      final List<Prefix> left = manager.prefilter().remove(OptionalLong.of(2), removed).deny();
      for (int i = 0; i < 4000; i++) {
        final IpAddress address = deny.get(random.nextInt(deny.size())).address();
        final boolean isDenied = left.stream().anyMatch(prefix -> prefix.contains(address));
        assertEquals(isDenied ? XDP_DROP : XDP_PASS, attached.verdict(address), address::toString);
      }
      manager.prefilter().remove(OptionalLong.empty(), left);
      for (int i = 0; i < 1000; i++) {
        assertEquals(XDP_PASS, attached.verdict(deny.get(i).address()));
      }
    }
  }

  @Test
  void shouldKeepDroppingSourcesOfARemainingOverlappingPrefix() {
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      final Prefilter prefilter = manager.prefilter();
      prefilter.add(
          OptionalLong.empty(),
          List.of(
              Prefix.parse("10.0.0.0/8"),
              Prefix.parse("10.1.2.0/24"),
              Prefix.parse("10.1.2.128/30"),
              Prefix.parse("fd00::/16"),
              Prefix.parse("fd00:1:2::/48")));
      prefilter.remove(
          OptionalLong.empty(), List.of(Prefix.parse("10.0.0.0/8"), Prefix.parse("fd00::/16")));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("10.1.2.3")));
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("10.1.3.3")));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("fd00:1:2:3::4")));
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("fd00:1:3::4")));
      prefilter.remove(OptionalLong.empty(), List.of(Prefix.parse("10.1.2.0/24")));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("10.1.2.129")));
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("10.1.2.3")));
      assertEquals(
          List.of("10.1.2.128/30", "fd00:1:2::/48"),
          prefilter.get().deny().stream().map(Prefix::toString).toList());
    }
  }

  /**
   * Each second address, and each second network, in one bucket of either class and four leaves.
   */
  @Test
  void shouldFindEachOfAThousandNeighbours() {
    final List<Prefix> deny = new ArrayList<>();
    for (int i = 0; i < 1000; i += 2) {
      deny.add(Prefix.of(IpAddress.ofIpv4(10 << 24 | i)));
      deny.add(Prefix.of(IpAddress.ofIpv6(0xfd00_0001_0002_0003L, i)));
      deny.add(Prefix.of(IpAddress.ofIpv6(0xfd00_0200_0000_0000L | (long) i << 17, 0), 47));
    }
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      manager.prefilter().add(OptionalLong.empty(), deny);
      for (final Prefix prefix : deny) {
        final IpAddress next = prefix.last().plus(1);
        assertEquals(XDP_DROP, attached.verdict(prefix.address()), prefix::toString);
        assertEquals(XDP_DROP, attached.verdict(prefix.last()), prefix::toString);
        assertEquals(XDP_PASS, attached.verdict(next), next::toString);
      }
    }
  }

  /**
   * One block of 8,192 IPv4 addresses and one bucket of IPv6, as one prefix after another comes.
   */
  @Test
  void shouldDropExactlyTheSourcesOfFewNeighbours() {
    final List<String> come =
        List.of(
            "10.0.3.64/26",
            "fd00:1:2:3::10/124",
            "10.0.31.128/25",
            "fd00:1:2:3::100/120",
            "10.0.0.5/32",
            "fd00:1:2:3::40/128",
            "10.0.5.7/32",
            "fd00:1:2:3::7/128");
    final List<Prefix> deny = new ArrayList<>();
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      for (final String prefix : come) {
        deny.add(Prefix.parse(prefix));
        manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse(prefix)));
        for (int i = 0; i < 8192; i++) {
          final IpAddress address =
              deny.size() % 2 == 1
                  ? IpAddress.ofIpv4(10 << 24 | i)
                  : IpAddress.ofIpv6(0xfd00_0001_0002_0003L, i);
          final boolean isDenied = deny.stream().anyMatch(listed -> listed.contains(address));
          assertEquals(
              isDenied ? XDP_DROP : XDP_PASS,
              attached.verdict(address),
              () -> address + " of " + deny);
        }
      }
    }
  }

  /** The network stack strips any number of priority tags and processes the inner packet. */
  @Test
  void shouldFindTheSourceBehindVlanTagsAndDropFramesWithTooManyTags() {
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      manager
          .prefilter()
          .add(
              OptionalLong.empty(),
              List.of(Prefix.parse("10.0.0.1/32"), Prefix.parse("fd00::/32")));
      for (int tags = 0; tags <= 4; tags++) {
        assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("10.0.0.1"), tags));
        assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("fd00::1"), tags));
        assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("10.0.0.2"), tags));
        assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("fd01::1"), tags));
      }
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("10.0.0.1"), 5));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("fd00::1"), 5));
    }
  }

  @Test
  void shouldNotChangeTheListWhenAChangeFails() {
    try (DatapathManager manager =
            node.launch(node.context().prefilterDevice(DEVICE).enableIpv6(false));
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      final Prefilter prefilter = manager.prefilter();
      final Prefix good = Prefix.parse("10.0.0.0/8");
      assertEquals(
          Refusal.Kind.STALE, refusal(() -> prefilter.add(OptionalLong.of(7), List.of(good))));
      assertEquals(
          Refusal.Kind.INVALID,
          refusal(
              () ->
                  prefilter.add(
                      OptionalLong.empty(), List.of(good, Prefix.parse("2001:db8::/32")))));
      node.prefilterStore().failWrites(true);
      assertThrows(
          OperationException.class, () -> prefilter.add(OptionalLong.empty(), List.of(good)));
      node.prefilterStore().failWrites(false);
      assertEquals(PrefilterList.EMPTY, prefilter.get());
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("10.1.2.3")));
      prefilter.add(OptionalLong.empty(), List.of(good));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("10.1.2.3")));
    }
  }

  @Test
  void shouldEnforceThePinnedListAndRefuseChangesWhereTheStoredOneCannotBeRead() {
    final List<Prefix> deny = List.of(Prefix.parse("10.1.0.0/16"), Prefix.parse("fd00:1::/32"));
    try (DatapathManager manager = launch(PrefilterMode.NATIVE)) {
      manager.prefilter().add(OptionalLong.empty(), deny);
    }
    node.prefilterStore().failReads(true);
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      final Prefilter prefilter = manager.prefilter();
      assertEquals(new PrefilterList(0, deny), prefilter.get());
      for (final Executable change :
          List.<Executable>of(
              () -> prefilter.add(OptionalLong.empty(), List.of(Prefix.parse("10.2.0.0/16"))),
              () -> prefilter.add(OptionalLong.of(0), List.of()),
              () -> prefilter.remove(OptionalLong.empty(), deny))) {
        assertEquals(
            "the list is damaged", assertThrows(OperationException.class, change).getMessage());
      }
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("10.1.2.3")));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("fd00:1::1")));
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("10.2.2.3")));
    }
    node.prefilterStore().failReads(false);
    try (DatapathManager manager = launch(PrefilterMode.NATIVE)) {
      assertEquals(new PrefilterList(2, deny), manager.prefilter().get());
    }
  }

  @Test
  void shouldDropWithoutAnAgentAndRestoreTheStoredList() throws IOException {
    final Prefix first = Prefix.parse("192.0.2.0/27");
    try (DatapathManager manager = launch(PrefilterMode.NATIVE)) {
      manager.prefilter().add(OptionalLong.empty(), List.of(first));
    }
    assertFalse(Ping.isAnswered(outside, "192.0.2.1", 300), "the program drops without an agent");
    node.prefilterStore().store(new PrefilterList(9, List.of(Prefix.parse("198.51.100.0/24"))));
    try (DatapathManager manager = launch(PrefilterMode.GENERIC);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      assertEquals(9, manager.prefilter().get().revision());
      assertTrue(Ping.isAnswered(outside, "192.0.2.1", 2000));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("198.51.100.7")));
    }
    try (DatapathManager manager = node.launch(node.context())) {
      assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("devices/")));
      assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("prefilter")));
      assertEquals(List.of(), manager.prefilter().get().deny());
      assertEquals(
          Refusal.Kind.DISABLED,
          refusal(() -> manager.prefilter().add(OptionalLong.empty(), List.of(first))));
      assertFalse(outsideLink().contains("xdp"), "the program is detached without the option");
    }
  }

  @Test
  void shouldCountThePacketsAndTheBytesThatItDrops() {
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("203.0.113.0/24")));
      final IpAddress source = IpAddress.parse("203.0.113.7");
      for (int i = 0; i < 5; i++) {
        assertEquals(XDP_DROP, attached.verdict(source));
      }
      final int frameBytes =
          Packets.ipv4(source.toString(), "192.0.2.1").tcp(31337, 80).syn().bytes().length;
      final List<String> drops = new ArrayList<>();
      manager
          .metrics()
          .forEach(
              (direction, reason, packets, bytes) -> {
                if (reason == DropReason.PREFILTER.number()) {
                  drops.add(direction + ": " + packets + " packets, " + bytes + " bytes");
                }
              });
      assertEquals(
          List.of(MetricsDirection.NETWORK.number() + ": 5 packets, " + 5 * frameBytes + " bytes"),
          drops);
    }
  }

  /** Both prefixes lie in one cell of the bitmap, so that the table decides. */
  @Test
  void shouldForgetPrefixesOfThePreviousRunThatTheStoreDoesNotHold() throws IOException {
    try (DatapathManager manager = launch(PrefilterMode.NATIVE)) {
      manager
          .prefilter()
          .add(
              OptionalLong.empty(),
              List.of(
                  Prefix.parse("192.0.2.0/27"),
                  Prefix.parse("192.0.2.64/32"),
                  Prefix.parse("2001:db8::/120"),
                  Prefix.parse("2001:db8::4:0/128")));
    }
    node.prefilterStore()
        .store(
            new PrefilterList(
                9, List.of(Prefix.parse("192.0.2.64/32"), Prefix.parse("2001:db8::4:0/128"))));
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      assertEquals(9, manager.prefilter().get().revision());
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("192.0.2.2")));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("192.0.2.64")));
      assertEquals(XDP_PASS, attached.verdict(IpAddress.parse("2001:db8::2")));
      assertEquals(XDP_DROP, attached.verdict(IpAddress.parse("2001:db8::4:0")));
      assertEquals(2, manager.maps().find("prefilter_list").orElseThrow().countEntries());
    }
  }

  @Test
  void shouldEnforceAHundredThousandPrefixesInOneChange() {
    final List<Prefix> deny = randomPrefixes(new Random(11), 100_000);
    try (DatapathManager manager = launch(PrefilterMode.NATIVE);
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      final long start = System.nanoTime();
      final PrefilterList list = manager.prefilter().add(OptionalLong.empty(), deny);
      System.out.printf(
          "prefilter: %d prefixes enforced in %d ms%n",
          list.deny().size(), (System.nanoTime() - start) / 1_000_000);
      for (int i = 0; i < 1000; i++) {
        assertEquals(XDP_DROP, attached.verdict(deny.get(i * 97).address()));
      }
      final long startAgain = System.nanoTime();
      manager.prefilter().remove(OptionalLong.empty(), deny);
      System.out.printf(
          "prefilter: %d prefixes removed in %d ms%n",
          deny.size(), (System.nanoTime() - startAgain) / 1_000_000);
      assertEquals(XDP_PASS, attached.verdict(deny.getFirst().address()));
    }
  }

  private static Refusal.Kind refusal(Runnable change) {
    return assertThrows(Refusal.class, change::run).kind();
  }

  private static long drops(DatapathManager manager) {
    return manager
        .metrics()
        .packets(MetricsDirection.NETWORK.number(), DropReason.PREFILTER.number());
  }

  private String outsideLink() {
    return node.namespace().exec("ip", "-o", "link", "show", "dev", DEVICE);
  }

  /** Returns random prefixes of 14 to 32 and 20 to 128 bits, outside the networks of the test. */
  private static List<Prefix> randomPrefixes(Random random, int count) {
    final List<Prefix> prefixes = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      prefixes.add(
          random.nextBoolean()
              ? Prefix.of(
                  IpAddress.ofIpv4(10 << 24 | random.nextInt() & 0xffffff), 14 + random.nextInt(19))
              : Prefix.of(
                  IpAddress.ofIpv6(
                      0xfd00L << 48 | random.nextLong() & 0xffffffffffffL, random.nextLong()),
                  20 + random.nextInt(109)));
    }
    return prefixes;
  }
}
