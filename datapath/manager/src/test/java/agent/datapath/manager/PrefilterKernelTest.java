package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BpfLink;
import agent.bindings.BpfProgram;
import agent.bindings.ProgramTestRun;
import agent.datapath.manager.spec.Prefilter;
import agent.datapath.manager.spec.Prefilter.PrefilterMode;
import agent.datapath.manager.spec.PrefilterList;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Packets;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@KernelTest
class PrefilterKernelTest {
  private static final int XDP_DROP = 1;
  private static final int XDP_PASS = 2;
  private static final String DEVICE = "up0";

  private ManagerTestNode node;
  private NetworkNamespace outside;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    outside = NetworkNamespace.create("out");
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
    node.namespace().exec("ip", "address", "add", "192.0.2.1/24", "dev", DEVICE);
    node.namespace().exec("ip", "-6", "address", "add", "2001:db8::1/64", "dev", DEVICE, "nodad");
    outside.exec("ip", "address", "add", "192.0.2.2/24", "dev", "net0");
    outside.exec("ip", "address", "add", "192.0.2.200/24", "dev", "net0");
    outside.exec("ip", "-6", "address", "add", "2001:db8::2/64", "dev", "net0", "nodad");
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
      assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("devices")));
      assertTrue(node.pins().stream().noneMatch(pin -> pin.contains("prefilter")));
      assertEquals(Refusal.Kind.DISABLED, refusal(() -> manager.prefilter().get()));
      assertFalse(outsideLink().contains("xdp"), "the program is detached without the option");
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

  /** Runs the attached prefilter program on packets from a source address. */
  private static final class AttachedPrefilter implements AutoCloseable {
    private final BpfProgram program;
    private final ProgramTestRun run = new ProgramTestRun(1500);

    AttachedPrefilter(ManagerTestNode node) {
      final String device =
          node.pins().stream()
              .filter(path -> path.startsWith("agent/devices/"))
              .findFirst()
              .orElseThrow();
      try (BpfLink link = BpfLink.openPinned(node.bpfRoot().resolve(device)).orElseThrow()) {
        program = BpfProgram.openById(link.info().programId());
      }
    }

    int verdict(IpAddress source) {
      return verdict(source, 0);
    }

    int verdict(IpAddress source, int tags) {
      final IpPacket from =
          source.isIpv4()
              ? Packets.ipv4(source.toString(), "192.0.2.1")
              : Packets.ipv6(source.toString(), "2001:db8::1");
      for (int i = 0; i < tags; i++) {
        from.vlan(0);
      }
      final byte[] packet = from.tcp(31337, 80).syn().bytes();
      run.input(packet);
      assertEquals(0, run.run(program, packet.length, 0, 1));
      return run.returnValue();
    }

    @Override
    public void close() {
      run.close();
      program.close();
    }
  }
}
