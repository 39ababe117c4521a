package agent.datapath.programs.load;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackDelivery;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.types.IpAddress;
import java.util.HashMap;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** What a flow of releases 0.1.0 to 0.3.0 keeps when it is carried over. */
class ConntrackLayout1Test {
  private static final int KEY_AT = 8;
  private static final int VALUE_AT = 16;
  private static final int OUTSIDE = 65_536;
  private static final int SEEN_REPLY = ConntrackFlag.SEEN_REPLY.number();
  private static final int INITIATOR_HIGH = ConntrackFlag.INITIATOR_HIGH.number();

  private final Map<Integer, Long> before = new HashMap<>();
  private final Map<Integer, Long> now = new HashMap<>();
  private final ConntrackLayout1 layout =
      new ConntrackLayout1(
          index -> before.getOrDefault(index, 0L), index -> now.getOrDefault(index, 0L));
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[ConntrackLayout1.LENGTH]);
  private final UnsafeBuffer newKey = new UnsafeBuffer(new byte[64]);
  private final UnsafeBuffer newValue = new UnsafeBuffer(new byte[256]);
  private final ConntrackEntryFlyweight entry =
      new ConntrackEntryFlyweight().wrap(newValue, VALUE_AT);

  private UnsafeBuffer key4(int protocol) {
    final UnsafeBuffer key = new UnsafeBuffer(new byte[Conntrack4KeyFlyweight.LENGTH]);
    new Conntrack4KeyFlyweight()
        .wrap(key, 0)
        .lowAddress(0x0a010007)
        .highAddress(0xc0000209)
        .lowPort(1000)
        .highPort(2000)
        .protocol(protocol);
    return key;
  }

  private UnsafeBuffer key6(int protocol) {
    final UnsafeBuffer key = new UnsafeBuffer(new byte[Conntrack6KeyFlyweight.LENGTH]);
    new Conntrack6KeyFlyweight()
        .wrap(key, 0)
        .lowAddress(0x2001_0db8_0000_0000L, 7)
        .highAddress(0xfd00_0000_0000_0000L, 9)
        .lowPort(1000)
        .highPort(2000)
        .protocol(protocol);
    return key;
  }

  private void side(int side, int id, int generation, int identity) {
    value.putShort(16 + side * 2, (short) id);
    value.putInt(8 + side * 4, generation);
    value.putInt(56 + side * 4, identity);
    value.putLong(64 + side * 8, 100 + side);
    value.putLong(80 + side * 8, 5000 + side);
  }

  private void state(int flags, int reason) {
    value.putLong(0, 0x0123_4567_89ab_cdefL);
    value.putShort(20, (short) flags);
    value.putByte(22, (byte) reason);
  }

  private boolean convert(UnsafeBuffer key) {
    newValue.setMemory(0, newValue.capacity(), (byte) 0x55);
    return layout.convert(key, value, newKey, KEY_AT, newValue, VALUE_AT);
  }

  private static byte[] copy(UnsafeBuffer buffer, int offset, int length) {
    final byte[] bytes = new byte[length];
    buffer.getBytes(offset, bytes);
    return bytes;
  }

  @Test
  void shouldKeepStateCountersAndIdentitiesOfAFlowBetweenTwoEndpoints() {
    state(SEEN_REPLY, 0);
    side(0, 12, 3 << 24 | 77, 256);
    side(1, 65_535, 0x8500_0001, 257);
    before.put(12, 3L << 24 | 99);
    before.put(65_535, 0x85L << 24);
    now.put(12, 4L << 32 | 1);
    now.put(65_535, 6L << 32 | 2);
    assertTrue(convert(key4(6)));
    assertEquals(0x0123_4567_89ab_cdefL, entry.expiresNs());
    assertEquals(SEEN_REPLY, entry.flags());
    assertEquals(0, entry.dropReason());
    assertEquals(10L << 32 | 0xffff_ffffL, entry.generation(), "the owners are added, and stale");
    for (int side = 0; side < 2; side++) {
      final int id = side == 0 ? 12 : 65_535;
      assertEquals(id, entry.party(side));
      assertEquals(id, entry.deliveryIndex(side));
      assertEquals(ConntrackDelivery.TO_PEER.number(), entry.deliveryKind(side));
      assertEquals(256 + side, entry.identity(side));
      assertEquals(100 + side, entry.packets(side));
      assertEquals(5000 + side, entry.bytes(side));
    }
    assertArrayEquals(
        copy(key4(6), 0, Conntrack4KeyFlyweight.LENGTH),
        copy(newKey, KEY_AT, Conntrack4KeyFlyweight.LENGTH));
    assertEquals(0x55, newValue.getByte(VALUE_AT - 1));
    assertEquals(0x55, newValue.getByte(VALUE_AT + ConntrackEntryFlyweight.LENGTH));
  }

  @Test
  void shouldKeepNoFlowOfAnEndpointWhoseIdHasHadAnotherOwner() {
    state(0, 0);
    side(0, 12, 3 << 24, 256);
    side(1, 13, 3 << 24, 257);
    before.put(12, 3L << 24);
    before.put(13, 4L << 24);
    assertFalse(convert(key4(6)));
    before.put(12, 4L << 24);
    before.put(13, 3L << 24);
    assertFalse(convert(key4(6)));
    before.put(12, 3L << 24);
    assertTrue(convert(key4(6)));
  }

  @Test
  void shouldMarkTheOutsideWithItsShard() {
    final IpAddress high4 = IpAddress.parse("192.0.2.9");
    final int shard4 = Shards.of(high4);
    state(0, 5);
    side(0, 12, 0, 256);
    side(1, 0, 9 << 24, 2);
    now.put(OUTSIDE + shard4, 8L << 32);
    assertTrue(convert(key4(17)));
    assertEquals(ConntrackFlag.OUTSIDE_HIGH.number(), entry.flags());
    assertEquals(shard4, entry.party(1));
    assertEquals(0, entry.deliveryKind(1));
    assertEquals(12, entry.party(0));
    assertEquals(8L << 32 | 0xffff_ffffL, entry.generation());
    assertEquals(5, entry.dropReason());

    side(0, 0, 0, 2);
    assertTrue(convert(key6(17)));
    assertEquals(
        ConntrackFlag.OUTSIDE_HIGH.number() | ConntrackFlag.OUTSIDE_LOW.number(), entry.flags());
    assertEquals(Shards.of(IpAddress.parse("2001:db8::7")), entry.party(0));
    assertEquals(Shards.of(IpAddress.parse("fd00::9")), entry.party(1));
  }

  /** The identifier was on both sides; it stays on the side that asks. */
  @Test
  void shouldKeepTheIdentifierOfAnEchoOnTheSideThatAsksAlone() {
    side(0, 12, 0, 256);
    side(1, 13, 0, 257);
    final Conntrack4KeyFlyweight ipv4 = new Conntrack4KeyFlyweight().wrap(newKey, KEY_AT);
    final Conntrack6KeyFlyweight ipv6 = new Conntrack6KeyFlyweight().wrap(newKey, KEY_AT);
    for (final boolean highAsked : new boolean[] {false, true}) {
      state(highAsked ? INITIATOR_HIGH : 0, 0);
      assertTrue(convert(key4(1)));
      assertEquals(highAsked ? 0 : 1000, ipv4.lowPort());
      assertEquals(highAsked ? 2000 : 0, ipv4.highPort());
      assertTrue(convert(key6(58)));
      assertEquals(highAsked ? 0 : 1000, ipv6.lowPort());
      assertEquals(highAsked ? 2000 : 0, ipv6.highPort());
      assertTrue(convert(key4(58)));
      assertEquals("1000 2000", ipv4.lowPort() + " " + ipv4.highPort());
      assertTrue(convert(key6(1)));
      assertEquals("1000 2000", ipv6.lowPort() + " " + ipv6.highPort());
    }
  }
}
