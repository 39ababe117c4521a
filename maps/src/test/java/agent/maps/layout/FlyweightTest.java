package agent.maps.layout;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteOrder;
import java.util.Arrays;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class FlyweightTest {
  private static final int OFFSET = 4;

  private final byte[] bytes = new byte[128];
  private final UnsafeBuffer buffer = new UnsafeBuffer(bytes);

  private byte[] at(int offset, int length) {
    final byte[] copy = new byte[length];
    buffer.getBytes(OFFSET + offset, copy);
    return copy;
  }

  @Test
  void shouldWritePortsAndAddressesInNetworkOrder() {
    final Conntrack4KeyFlyweight key = new Conntrack4KeyFlyweight().wrap(buffer, OFFSET);
    assertSame(key, key.lowAddress(0x0a010007).lowPort(43210).highPort(80).protocol(6));
    assertArrayEquals(new byte[] {10, 1, 0, 7}, at(Conntrack4KeyFlyweight.LOW_ADDRESS_OFFSET, 4));
    assertArrayEquals(
        new byte[] {(byte) 0xa8, (byte) 0xca}, at(Conntrack4KeyFlyweight.LOW_PORT_BE_OFFSET, 2));
    assertEquals(0x0a010007, key.lowAddress());
    assertEquals(43210, key.lowPort());
    assertEquals(80, key.highPort());
  }

  @Test
  void shouldWriteAnIpv6AddressFromItsTwoHalves() {
    final Ipcache6KeyFlyweight key = new Ipcache6KeyFlyweight().wrap(buffer, OFFSET);
    key.address(0x0011223344556677L, 0x8899aabbccddeeffL);
    final byte[] written = at(Ipcache6KeyFlyweight.ADDRESS_OFFSET, 16);
    for (int i = 0; i < written.length; i++) {
      assertEquals(i * 0x11, written[i] & 0xff);
    }
    assertEquals(0x0011223344556677L, key.addressHigh());
    assertEquals(0x8899aabbccddeeffL, key.addressLow());
  }

  @Test
  void shouldWriteAMacAddressWithoutChangingAdjacentBytes() {
    final EndpointEntryFlyweight entry = new EndpointEntryFlyweight().wrap(buffer, OFFSET);
    entry.identity(-1).aggregation(-1).hostMac(0xffff_ffff_ffffL).mac(0x0200_5e10_2030L);
    assertArrayEquals(
        new byte[] {2, 0, 0x5e, 0x10, 0x20, 0x30}, at(EndpointEntryFlyweight.MAC_OFFSET, 6));
    assertEquals(0x0200_5e10_2030L, entry.mac());
    assertEquals(-1, entry.identity());
    assertEquals(255, entry.aggregation());
    assertEquals(0xffff_ffff_ffffL, entry.hostMac());
  }

  @Test
  void shouldKeepPairsApart() {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(buffer, OFFSET);
    entry.generation(-1).party(0, 65535).party(1, 4);
    entry.deliveryKind(0, ConntrackDelivery.TO_PEER.number()).deliveryIndex(0, 65535);
    entry.deliveryKind(1, ConntrackDelivery.TO_TUNNEL.number()).deliveryIndex(1, 6);
    entry.identity(1, 3).serviceId(-1).openedAt(5);
    entry.packets(0, 7).packets(1, Long.MAX_VALUE).bytes(0, 9).bytes(1, 10);
    assertEquals(-1, entry.generation());
    assertEquals(3, entry.identity(1));
    assertEquals(-1, entry.serviceId());
    assertEquals(5, entry.openedAt());
    assertEquals(65535, entry.party(0));
    assertEquals(4, entry.party(1));
    assertEquals(ConntrackDelivery.TO_PEER.number(), entry.deliveryKind(0));
    assertEquals(65535, entry.deliveryIndex(0));
    assertEquals(ConntrackDelivery.TO_TUNNEL.number(), entry.deliveryKind(1));
    assertEquals(6, entry.deliveryIndex(1));
    assertEquals(7, entry.packets(0));
    assertEquals(Long.MAX_VALUE, entry.packets(1));
    assertEquals(9, entry.bytes(0));
    assertEquals(10, entry.bytes(1));
  }

  @Test
  void shouldWriteWhatAnEntryRewritesInNetworkOrder() {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(buffer, OFFSET);
    entry.dropReason(1).rewrite(3).end().port(0x1234).checksum(0xfffe);
    entry.end().address(0x0011223344556677L, 0x8899aabbccddeeffL);
    final byte[] written = at(ConntrackEntryFlyweight.END_OFFSET, 18);
    for (int i = 0; i < 16; i++) {
      assertEquals(i * 0x11, written[i] & 0xff);
    }
    assertEquals(0x12, written[16]);
    assertEquals(0x34, written[17]);
    assertEquals(1, entry.dropReason());
    assertEquals(3, at(ConntrackEntryFlyweight.REWRITE_OFFSET, 1)[0]);
    assertEquals((short) 0xfffe, buffer.getShort(OFFSET + ConntrackEntryFlyweight.END_OFFSET + 18));
  }

  @Test
  void shouldHaveTheOtherEndInThePlaceOfTheCounters() {
    final ConntrackEntryFlyweight entry =
        new ConntrackEntryFlyweight().wrap(buffer, OFFSET).clear();
    entry.other().address(1, 2).port(0x1234).checksum(0xfffe);
    entry.refreshedAt(9).identity(0, 7);
    assertEquals(ConntrackEntryFlyweight.PACKETS_OFFSET, ConntrackEntryFlyweight.OTHER_OFFSET);
    assertEquals(Long.reverseBytes(1), buffer.getLong(OFFSET + 64));
    assertEquals(Long.reverseBytes(2), buffer.getLong(OFFSET + 72));
    assertEquals(0x1234, buffer.getShort(OFFSET + 80, ByteOrder.BIG_ENDIAN));
    assertEquals((short) 0xfffe, buffer.getShort(OFFSET + 82));
    assertEquals(9, entry.bytes(1));
    assertEquals(9, entry.flowHash());
    assertEquals(7, entry.identity(0));
  }

  @Test
  void shouldReadUnsignedNumbersAsUnsigned() {
    final FlowEventFlyweight event = new FlowEventFlyweight().wrap(buffer, OFFSET);
    event.type(255).endpointId(65535).sourcePort(65535);
    assertEquals(255, event.type());
    assertEquals(65535, event.endpointId());
    assertEquals(65535, event.sourcePort());
  }

  @Test
  void shouldClearOnlyItsOwnBytes() {
    buffer.setMemory(0, bytes.length, (byte) 0x55);
    new PolicyKeyFlyweight().wrap(buffer, OFFSET).clear();
    assertEquals(0x55, bytes[OFFSET - 1]);
    assertArrayEquals(new byte[PolicyKeyFlyweight.LENGTH], at(0, PolicyKeyFlyweight.LENGTH));
    assertEquals(0x55, bytes[OFFSET + PolicyKeyFlyweight.LENGTH]);
  }

  @Test
  void shouldCopyAnEventAndNoOtherByte() {
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
    }
    for (final int captured : new int[] {0, 5}) {
      final byte[] copy = new byte[FlowEventFlyweight.LENGTH + captured + 2];
      final FlowEventFlyweight event =
          new FlowEventFlyweight().wrap(buffer, OFFSET).capturedLength(9);
      FlowEvents.copy(event, new UnsafeBuffer(copy), 1, captured);
      assertEquals(
          captured, new FlowEventFlyweight().wrap(new UnsafeBuffer(copy), 1).capturedLength());
      event.capturedLength(captured);
      assertArrayEquals(
          Arrays.copyOfRange(bytes, OFFSET, OFFSET + FlowEventFlyweight.LENGTH + captured),
          Arrays.copyOfRange(copy, 1, copy.length - 1));
      assertEquals(0, copy[0] | copy[copy.length - 1]);
    }
  }

  @Test
  void shouldAddThePendingPacketsAndBytesOfASide() {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(buffer, OFFSET);
    buffer.putInt(OFFSET + ConntrackEntryFlyweight.PENDING_OFFSET, 0xff00_0003);
    buffer.putInt(OFFSET + ConntrackEntryFlyweight.PENDING_OFFSET + Integer.BYTES, 0x02ff_ffff);
    entry.packets(0, 1000).packets(1, 2000).bytes(0, 1 << 30).bytes(1, 1L << 40);
    assertEquals(1255, ConntrackEntries.packets(entry, 0));
    assertEquals(2002, ConntrackEntries.packets(entry, 1));
    assertEquals((1 << 30) + 3, ConntrackEntries.bytes(entry, 0));
    assertEquals((1L << 40) + 0xff_ffff, ConntrackEntries.bytes(entry, 1));
  }

  @Test
  void shouldCopyATranslation() {
    final TranslationEventFlyweight event = new TranslationEventFlyweight().wrap(buffer, OFFSET);
    event.type(4).backendAddress(1, 2);
    final byte[] copy = new byte[TranslationEventFlyweight.LENGTH + 2];
    FlowEvents.copy(event, new UnsafeBuffer(copy), 1);
    assertArrayEquals(
        at(0, TranslationEventFlyweight.LENGTH), Arrays.copyOfRange(copy, 1, copy.length - 1));
    assertEquals(0, copy[0] | copy[copy.length - 1]);
  }

  @Test
  void shouldKnowTheEndpointOfASideByItsFlag() {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(buffer, OFFSET);
    entry.party(0, 7).party(1, 65535);
    assertEquals(7, ConntrackEntries.endpointId(entry, 0));
    assertEquals(65535, ConntrackEntries.endpointId(entry, 1));
    entry.flags(ConntrackFlag.OUTSIDE_HIGH.number());
    assertEquals(7, ConntrackEntries.endpointId(entry, 0));
    assertEquals(0, ConntrackEntries.endpointId(entry, 1));
    entry.flags(ConntrackFlag.OUTSIDE_LOW.number());
    assertEquals(0, ConntrackEntries.endpointId(entry, 0));
  }

  @Test
  void shouldKnowAnEntryThatCountsNothing() {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(buffer, OFFSET);
    entry.rewrite(ConntrackRewrite.BOTH.number());
    assertFalse(ConntrackEntries.isRelayed(entry));
    entry.flags(ConntrackFlag.REWRITTEN.number());
    assertTrue(ConntrackEntries.isRelayed(entry));
    entry.rewrite(ConntrackRewrite.DESTINATION.number());
    assertFalse(ConntrackEntries.isRelayed(entry));
    entry.flags(ConntrackFlag.PROXIED.number());
    assertTrue(ConntrackEntries.isRelayed(entry));
  }
}
