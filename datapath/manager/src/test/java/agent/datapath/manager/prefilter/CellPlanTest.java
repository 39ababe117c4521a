package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.maps.layout.PrefilterTable;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class CellPlanTest {
  private static final int NONE = 0;
  private static final int PART = 1;
  private static final int WHOLE = 3;

  private final CellPlan plan = new CellPlan();

  @Test
  void shouldMarkCellsWholeForShortPrefixesAndPartForLongOnes() {
    plan.rebuild(
        List.of(
            Prefix.parse("10.1.0.0/16"),
            Prefix.parse("10.2.3.0/24"),
            Prefix.parse("10.2.4.128/25"),
            Prefix.parse("10.1.9.9/32")));
    assertEquals(WHOLE, cell4("10.1.0.0"));
    assertEquals(WHOLE, cell4("10.1.255.255"));
    assertEquals(WHOLE, cell4("10.1.9.9"), "a longer prefix keeps the cell WHOLE");
    assertEquals(NONE, cell4("10.0.255.255"));
    assertEquals(NONE, cell4("10.2.0.0"));
    assertEquals(WHOLE, cell4("10.2.3.77"));
    assertEquals(PART, cell4("10.2.4.1"));
  }

  @Test
  void shouldMarkAllCellsForPrefixLengthZero() {
    plan.rebuild(List.of(Prefix.ALL_IPV4));
    for (final long word : plan.cells4()) {
      assertEquals(-1L, word);
    }
    for (final long word : plan.wide6()) {
      assertEquals(0L, word);
    }
  }

  @Test
  void shouldPutLongIpv6PrefixesIntoNarrowCells() {
    final Prefix narrow = Prefix.parse("2001:db8:1::/48");
    plan.rebuild(List.of(narrow, Prefix.parse("2001:dba::/32"), Prefix.parse("fc00::/7")));
    final int cell = narrowCell(narrow.address().high());
    assertEquals(1, plan.narrow6()[cell >>> 6] >>> (cell & 63) & 1);
    assertEquals(PART, cell6("2001:dba::1"));
    assertEquals(WHOLE, cell6("fd12:3456::1"));
    assertEquals(NONE, cell6("fe00::1"));
  }

  @Test
  void shouldClearTheCellsOfRemovedPrefixes() {
    plan.rebuild(List.of(Prefix.parse("10.0.0.0/8"), Prefix.parse("2001:db8:1::/64")));
    plan.rebuild(List.of());
    for (final long[] words : List.of(plan.cells4(), plan.wide6(), plan.narrow6())) {
      for (final long word : words) {
        assertEquals(0L, word);
      }
    }
  }

  @Test
  void shouldAgreeWithANaiveModelOnRandomLists() {
    final Random random = new Random(20261120);
    for (int round = 0; round < 20; round++) {
      final List<Prefix> deny = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        deny.add(
            random.nextBoolean()
                ? Prefix.of(IpAddress.ofIpv4(random.nextInt()), 8 + random.nextInt(25))
                : Prefix.of(
                    IpAddress.ofIpv6(random.nextLong(), random.nextLong()),
                    8 + random.nextInt(121)));
      }
      final List<Prefix> list = PrefixLists.sorted(deny);
      plan.rebuild(list);
      for (int i = 0; i < 2000; i++) {
        final Prefix near = deny.get(random.nextInt(deny.size()));
        final IpAddress address = near(near, random);
        final boolean isDenied = deny.stream().anyMatch(prefix -> prefix.contains(address));
        final int verdict = address.isIpv4() ? verdict4(address) : verdict6(address);
        assertTrue(
            isDenied ? verdict != NONE : verdict != WHOLE, () -> address + " verdict " + verdict);
        assertEquals(contains(deny, address, true), table(address, true), address::toString);
        assertEquals(contains(deny, address, false), table(address, false), address::toString);
      }
      assertEquals(list, listed());
    }
  }

  /** Whether a prefix longer than a cell, of one class, contains the address. */
  private static boolean contains(List<Prefix> deny, IpAddress address, boolean isNarrow) {
    return deny.stream()
        .anyMatch(
            prefix ->
                prefix.length() > 24
                    && (prefix.isIpv4() || prefix.length() >= 48 == isNarrow)
                    && prefix.contains(address));
  }

  /** Looks the address up in its table as {@code prefilter.bpf.c} does. */
  private boolean table(IpAddress address, boolean isNarrow) {
    if (address.isIpv4()) {
      final TablePlan table = plan.table(PrefilterTable.IPV4);
      final int cell = (int) address.low() >>> 8;
      final long block = table.word(cell >>> 5);
      if (block < 0) {
        return isOf(block, (int) address.low()) || isOf(block >>> 26, (int) address.low());
      }
      if ((block >>> (cell & 31) & 1) == 0) {
        return false;
      }
      final int leaf = (int) (block >>> 32) + Long.bitCount(block & (1L << (cell & 31)) - 1);
      final int octet = (int) address.low() & 255;
      return (table.word(leaf * 4 + (octet >>> 6)) >>> octet & 1) != 0;
    }
    final TablePlan table = plan.table(PrefilterTable.IPV6);
    final long key = isNarrow ? address.high() >>> 16 : address.high() >>> 40;
    final int bucket = (int) (key * 0x9E3779B97F4A7C15L >>> 47) | (isNarrow ? 1 << 17 : 0);
    int from = (int) table.word(bucket);
    int to = (int) (table.word(bucket) >>> 32);
    while (from < to) {
      final int middle = from + to >>> 1;
      if (address.compareTo(entry(table, middle * 4)) < 0) {
        to = middle;
      } else if (address.compareTo(entry(table, middle * 4 + 2)) > 0) {
        from = middle + 1;
      } else {
        return true;
      }
    }
    return false;
  }

  /** Whether the prefix in the lowest 13 bits, with its mask above them, has the address. */
  private static boolean isOf(long prefix, int address) {
    return ((address ^ prefix) & prefix >>> 13 & 0x1fff) == 0;
  }

  private static IpAddress entry(TablePlan table, int word) {
    return IpAddress.ofIpv6(table.word(word), table.word(word + 1));
  }

  private List<Prefix> listed() {
    final TablePlan table = plan.table(PrefilterTable.LIST);
    final UnsafeBuffer slot = new UnsafeBuffer(new byte[PrefilterSlotFlyweight.LENGTH]);
    final List<Prefix> listed = new ArrayList<>();
    for (int i = 0; i < table.slots(); i++) {
      for (int word = 0; word < 4; word++) {
        slot.putLong(word * 8, table.word(i * 4 + word));
      }
      listed.add(ListPlan.decode(new PrefilterSlotFlyweight().wrap(slot, 0)));
    }
    return listed;
  }

  /** Neighbours in one cell and one bucket, prefixes in others, and the largest and smallest. */
  @Test
  void shouldHoldDenseListsExactly() {
    final List<Prefix> deny = new ArrayList<>();
    for (int i = 0; i < 256; i += 2) {
      deny.add(Prefix.of(IpAddress.ofIpv4(0x0a000000 + i)));
      deny.add(Prefix.of(IpAddress.ofIpv6(0x2001_0db8_0000_0000L, i), 128));
      deny.add(Prefix.of(IpAddress.ofIpv6(0x2001_0d00_0000_0000L | (long) i << 24, 0), 40));
    }
    deny.add(Prefix.parse("10.0.0.64/26"));
    deny.add(Prefix.parse("10.0.1.0/25"));
    deny.add(Prefix.parse("10.0.31.255/32"));
    deny.add(Prefix.parse("10.0.64.1/32"));
    deny.add(Prefix.parse("10.0.64.9/32"));
    deny.add(Prefix.parse("10.0.67.3/32"));
    deny.add(Prefix.parse("255.255.255.128/25"));
    deny.add(Prefix.parse("2001:d00:800::/48"));
    deny.add(Prefix.parse("ffff:ffff:ffff::/48"));
    plan.rebuild(PrefixLists.sorted(deny));
    for (final Prefix prefix : deny) {
      for (final IpAddress at : List.of(prefix.address(), prefix.last())) {
        for (int offset = -1; offset <= 1; offset++) {
          final IpAddress address = at.plus(offset);
          assertEquals(contains(deny, address, true), table(address, true), address::toString);
          assertEquals(contains(deny, address, false), table(address, false), address::toString);
        }
      }
    }
  }

  /** Plans of other lists before leave nothing in the tables. */
  @Test
  void shouldBeTheSameAsANewPlanAfterOtherLists() {
    final List<Prefix> former = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      for (int octet = 1; octet <= 9; octet += 4) {
        former.add(Prefix.of(IpAddress.ofIpv4(0x0a000000 | i << 8 | octet)));
      }
      former.add(Prefix.of(IpAddress.ofIpv4(0x14000000 + (i << 13 | 1))));
      former.add(Prefix.of(IpAddress.ofIpv6(0x2001_0db8_0000_0000L | i, 7), 128));
    }
    plan.rebuild(PrefixLists.sorted(former));
    assertHolds(former);
    final List<Prefix> list =
        PrefixLists.sorted(
            List.of(
                Prefix.parse("10.0.0.2/32"),
                Prefix.parse("10.0.1.2/32"),
                Prefix.parse("10.0.2.2/32"),
                Prefix.parse("20.0.32.2/32"),
                Prefix.parse("2001:db8::/64")));
    plan.rebuild(list);
    final CellPlan other = new CellPlan();
    other.rebuild(list);
    for (final PrefilterTable table : PrefilterTable.values()) {
      final int slots = plan.table(table).slots();
      assertEquals(other.table(table).slots(), slots, table::name);
      for (int i = 0; i < slots * PrefilterGeometry.WORDS_PER_SLOT; i++) {
        assertEquals(other.table(table).word(i), plan.table(table).word(i), table + " at " + i);
      }
    }
  }

  private void assertHolds(List<Prefix> deny) {
    for (final Prefix prefix : deny) {
      assertTrue(table(prefix.address(), true), prefix::toString);
    }
  }

  /** A block holds up to two prefixes itself. */
  @Test
  void shouldHaveALeafForEachCellOfABlockWithMorePrefixes() {
    plan.rebuild(List.of());
    final TablePlan table = plan.table(PrefilterTable.IPV4);
    final int empty = table.slots();
    plan.rebuild(
        List.of(
            Prefix.parse("10.0.0.1/32"),
            Prefix.parse("10.0.1.1/32"),
            Prefix.parse("10.0.32.1/32"),
            Prefix.parse("10.0.64.1/32"),
            Prefix.parse("10.0.65.0/24"),
            Prefix.parse("10.0.66.1/32")));
    assertEquals(empty, table.slots());
    plan.rebuild(
        List.of(
            Prefix.parse("10.0.0.1/32"),
            Prefix.parse("10.0.0.3/32"),
            Prefix.parse("10.0.1.1/32"),
            Prefix.parse("10.0.32.1/32")));
    assertEquals(empty + 2, table.slots());
  }

  @Test
  void shouldHaveASlotForEachIpv6PrefixBehindTheBuckets() {
    plan.rebuild(List.of());
    final int empty = plan.table(PrefilterTable.IPV6).slots();
    plan.rebuild(
        List.of(
            Prefix.parse("2001:db8::/32"),
            Prefix.parse("2001:db8::/64"),
            Prefix.parse("2001:db8::1/128"),
            Prefix.parse("2001:db9::/48")));
    assertEquals(empty + 3, plan.table(PrefilterTable.IPV6).slots(), "one is in another of them");
  }

  /** Returns an address of the prefix, or one that differs from such an address in one bit. */
  private static IpAddress near(Prefix prefix, Random random) {
    final IpAddress address = prefix.address();
    final int bit = random.nextInt(address.bitLength());
    if (address.isIpv4()) {
      return IpAddress.ofIpv4((int) address.low() ^ 1 << bit);
    }
    return bit < 64
        ? IpAddress.ofIpv6(address.high(), address.low() ^ 1L << bit)
        : IpAddress.ofIpv6(address.high() ^ 1L << bit - 64, address.low());
  }

  private int verdict4(IpAddress address) {
    return cell(plan.cells4(), (int) address.low() >>> 8);
  }

  private int verdict6(IpAddress address) {
    final int wide = cell(plan.wide6(), (int) (address.high() >>> 40));
    final int cell = narrowCell(address.high());
    final boolean isNarrow = (plan.narrow6()[cell >>> 6] >>> (cell & 63) & 1) != 0;
    return wide == NONE && isNarrow ? PART : wide;
  }

  private int cell4(String address) {
    return verdict4(IpAddress.parse(address));
  }

  private int cell6(String address) {
    return cell(plan.wide6(), (int) (IpAddress.parse(address).high() >>> 40));
  }

  /** Computes the narrow cell as {@code prefilter.bpf.c} does. */
  private static int narrowCell(long high) {
    return (int) ((high >>> 16) * 0x9E3779B97F4A7C15L >>> 40);
  }

  private static int cell(long[] words, int cell) {
    return (int) (words[cell >>> 5] >>> ((cell & 31) << 1)) & 3;
  }
}
