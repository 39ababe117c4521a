package agent.maps.layout;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The accessors of every flyweight, against the members of its struct, which {@link
 * agent.maps.btf.ShippedLayoutTest} compares with C: an accessor reads or writes the member of its
 * name, in the byte order of that member, and no other byte.
 */
class AccessorTest {
  private static final int OFFSET = 16;
  private static final long PATTERN = 0xf1e2_d3c4_b5a6_9788L;
  private static final long OTHER_PATTERN = 0x8192_a3b4_c5d6_e7f8L;

  /** They also mark the family as present: see shouldMarkTheFamilyOfAnAddress. */
  private static final List<String> MARKING = List.of("ipv4", "ipv6");

  private final byte[] bytes = new byte[256];
  private final UnsafeBuffer buffer = new UnsafeBuffer(bytes);

  static Stream<Class<?>> flyweights() {
    return Stream.of(
        BalancerConfigFlyweight.class,
        BalancerFlowFlyweight.class,
        BalancerFlowKeyFlyweight.class,
        Conntrack4KeyFlyweight.class,
        Conntrack6KeyFlyweight.class,
        ConntrackEntryFlyweight.class,
        ConntrackSweepFlyweight.class,
        DeviceEntryFlyweight.class,
        EndpointEntryFlyweight.class,
        FlowEventFlyweight.class,
        FoundSocketFlyweight.class,
        Fragment4KeyFlyweight.class,
        Fragment6KeyFlyweight.class,
        FragmentEntryFlyweight.class,
        InterfaceCellFlyweight.class,
        Ipcache4KeyFlyweight.class,
        Ipcache6KeyFlyweight.class,
        IpcacheEntryFlyweight.class,
        MetricsEntryFlyweight.class,
        NodeConfigFlyweight.class,
        PolicyEntryFlyweight.class,
        PolicyKeyFlyweight.class,
        PrefilterConfigFlyweight.class,
        RedirectSocketFlyweight.class,
        RedirectSocketKeyFlyweight.class,
        ServiceAffinityFlyweight.class,
        ServiceAffinityKeyFlyweight.class,
        ServiceBackendKeyFlyweight.class,
        ServiceCellsFlyweight.class,
        ServiceEndFlyweight.class,
        ServiceEntryFlyweight.class,
        ServiceKeyFlyweight.class,
        ServiceSlotFlyweight.class,
        ServiceSlotKeyFlyweight.class,
        ServiceTableFlyweight.class,
        ServiceTableKeyFlyweight.class,
        SocketConfigFlyweight.class,
        TranslationEventFlyweight.class);
  }

  /** The bytes of one member, or of one element of an array of numbers. */
  private record Place(int offset, int length, boolean isBigEndian) {
    byte[] bytesOf(long value) {
      final byte[] big = ByteBuffer.allocate(Long.BYTES).putLong(value).array();
      final byte[] cut = Arrays.copyOfRange(big, Long.BYTES - length, Long.BYTES);
      return isBigEndian || ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? cut : reversed(cut);
    }

    long valueOf(long pattern) {
      return length == Long.BYTES ? pattern : pattern & (1L << length * Byte.SIZE) - 1;
    }

    Place half(int index) {
      return new Place(offset + index * Long.BYTES, Long.BYTES, true);
    }
  }

  private static byte[] reversed(byte[] bytes) {
    final byte[] copy = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      copy[i] = bytes[bytes.length - 1 - i];
    }
    return copy;
  }

  @ParameterizedTest
  @MethodSource("flyweights")
  void shouldReadTheMemberOfItsName(Class<?> type) throws ReflectiveOperationException {
    int found = 0;
    for (final Method getter : type.getDeclaredMethods()) {
      final Class<?> result = getter.getReturnType();
      if (!isAccessor(getter) || result != int.class && result != long.class) {
        continue;
      }
      for (int index = 0; index <= getter.getParameterCount(); index++) {
        final Place place = place(type, getter.getName(), index);
        if (place != null) {
          Arrays.fill(bytes, (byte) 0);
          buffer.putBytes(OFFSET + place.offset, place.bytesOf(PATTERN));
          assertEquals(expected(getter, place), read(type, getter, index), getter + " " + index);
          found++;
        }
      }
    }
    assertTrue(found > 0 || type == PrefilterConfigFlyweight.class, type + " has no getter");
  }

  /** Numbers of up to 16 bits are unsigned; one of 32 bits has the bits of an int. */
  private static long expected(Method getter, Place place) {
    final long value = place.valueOf(PATTERN);
    return getter.getReturnType() == int.class ? (int) value : value;
  }

  private long read(Class<?> type, Method getter, int index) throws ReflectiveOperationException {
    final Object[] arguments =
        getter.getParameterCount() == 0 ? new Object[0] : new Object[] {index};
    return ((Number) getter.invoke(wrapped(type), arguments)).longValue();
  }

  @ParameterizedTest
  @MethodSource("flyweights")
  void shouldWriteTheMemberOfItsNameAndNoOtherByte(Class<?> type)
      throws ReflectiveOperationException {
    for (final Method setter : type.getDeclaredMethods()) {
      final List<Class<?>> parameters = List.of(setter.getParameterTypes());
      if (!isAccessor(setter)
          || setter.getReturnType() != type
          || parameters.isEmpty()
          || type == EndpointEntryFlyweight.class && MARKING.contains(setter.getName())) {
        continue;
      }
      if (parameters.equals(List.of(long.class, long.class))) {
        final Place place = place(type, setter.getName(), 0);
        assertWritten(type, setter, place.half(0), place.half(1), PATTERN, OTHER_PATTERN);
      } else if (parameters.size() == 1 && hasOnePlace(type, setter)) {
        final Place place = place(type, setter.getName(), 0);
        assertWritten(type, setter, place, null, number(parameters.getFirst()));
      } else if (parameters.size() == 2 && parameters.getFirst() == int.class) {
        for (int index = 0; index < 2 && hasOnePlace(type, setter); index++) {
          final Place place = place(type, setter.getName(), index);
          assertWritten(type, setter, place, null, index, number(parameters.get(1)));
        }
      }
    }
  }

  private static Object number(Class<?> parameter) {
    return parameter == int.class ? (Object) (int) PATTERN : (Object) PATTERN;
  }

  private void assertWritten(
      Class<?> type, Method setter, Place place, Place second, Object... arguments)
      throws ReflectiveOperationException {
    Arrays.fill(bytes, (byte) 0x55);
    final byte[] wanted = bytes.clone();
    System.arraycopy(place.bytesOf(PATTERN), 0, wanted, OFFSET + place.offset, place.length);
    if (second != null) {
      System.arraycopy(
          second.bytesOf(OTHER_PATTERN), 0, wanted, OFFSET + second.offset, second.length);
    }
    final Object flyweight = wrapped(type);
    assertSame(flyweight, setter.invoke(flyweight, arguments), setter.toString());
    assertArrayEquals(wanted, bytes, setter.toString());
  }

  @Test
  void shouldMarkTheFamilyOfAnAddress() {
    final EndpointEntryFlyweight entry = new EndpointEntryFlyweight().wrap(buffer, OFFSET);
    assertFalse(entry.hasIpv4() || entry.hasIpv6());
    assertSame(entry, entry.ipv4(0x0a010007));
    assertTrue(entry.hasIpv4() && !entry.hasIpv6());
    assertSame(entry, entry.ipv6(PATTERN, OTHER_PATTERN));
    assertTrue(entry.hasIpv4() && entry.hasIpv6());
    assertEquals(0x0a010007, entry.ipv4());
    assertEquals(PATTERN, entry.ipv6High());
    assertEquals(OTHER_PATTERN, entry.ipv6Low());
    assertTrue(entry.clear().ipv6(0, 0).hasIpv6() && !entry.hasIpv4());
  }

  @Test
  void shouldWriteTheMembersOfAFlowThatAreSetTogether() {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(buffer, OFFSET);
    assertSame(entry, entry.delivery(1, ConntrackDelivery.TO_TUNNEL, 513));
    assertEquals(513, entry.deliveryIndex(1));
    assertEquals(0, entry.deliveryIndex(0));
    assertEquals(3, bytes[OFFSET + ConntrackEntryFlyweight.DELIVERY_KIND_OFFSET + 1]);
    assertSame(entry, entry.service(7, 9));
    assertEquals(7, entry.serviceId());
    assertEquals(9, entry.serviceGeneration());
    assertSame(entry, entry.rewriteAddress(0x0a010007));
    final int address = OFFSET + ConntrackEntryFlyweight.REWRITE_ADDRESS_OFFSET;
    assertEquals(0x0a010007, buffer.getInt(address, ByteOrder.BIG_ENDIAN));
    assertEquals(0, buffer.getInt(address + Integer.BYTES));
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
      event.copyTo(new UnsafeBuffer(copy), 1, captured);
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
    assertEquals(1255, entry.packets(0));
    assertEquals(2002, entry.packets(1));
    assertEquals((1 << 30) + 3, entry.bytes(0));
    assertEquals((1L << 40) + 0xff_ffff, entry.bytes(1));
  }

  @ParameterizedTest
  @MethodSource("flyweights")
  void shouldClearItsOwnBytesAlone(Class<?> type) throws ReflectiveOperationException {
    final Object flyweight = wrapped(type);
    for (final Method clear : type.getDeclaredMethods()) {
      if (clear.getName().equals("clear")) {
        Arrays.fill(bytes, (byte) 0x55);
        final byte[] wanted = bytes.clone();
        Arrays.fill(wanted, OFFSET, OFFSET + struct(type).length(), (byte) 0);
        assertSame(flyweight, clear.invoke(flyweight));
        assertArrayEquals(wanted, bytes);
      }
    }
  }

  private static boolean isAccessor(Method method) {
    return Modifier.isPublic(method.getModifiers())
        && !Modifier.isStatic(method.getModifiers())
        && !method.isSynthetic()
        && !method.getName().equals("wrap");
  }

  private Object wrapped(Class<?> type) throws ReflectiveOperationException {
    final Object flyweight = type.getConstructor().newInstance();
    final Method wrap = type.getMethod("wrap", MutableDirectBuffer.class, int.class);
    assertSame(flyweight, wrap.invoke(flyweight, buffer, OFFSET));
    return flyweight;
  }

  private static StructSpec struct(Class<?> type) throws ReflectiveOperationException {
    return (StructSpec) type.getField("STRUCT").get(null);
  }

  /** Returns whether the name is that of a member that is a number, a MAC or an IPv4 address. */
  private static boolean hasOnePlace(Class<?> type, Method setter)
      throws ReflectiveOperationException {
    final Place place = place(type, setter.getName(), 0);
    return place != null && place.length <= Long.BYTES;
  }

  /**
   * Finds the member of an accessor: {@code lowPort} is {@code low_port_be}, and {@code addressLow}
   * the second half of {@code address}.
   *
   * @param index of the element of an array of numbers
   * @return the place, or null where there is no member of that name
   */
  private static Place place(Class<?> type, String accessor, int index)
      throws ReflectiveOperationException {
    final String name = accessor.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    for (final StructSpec.Member member : struct(type).members()) {
      if (member.bitWidth() != 0 || member.scalar() == null) {
        continue;
      }
      if (name.equals(member.name()) || (name + "_be").equals(member.name())) {
        return placeOf(member, index);
      }
      if (name.equals(member.name() + "_high") || name.equals(member.name() + "_low")) {
        return placeOf(member, 0).half(name.endsWith("_high") ? 0 : 1);
      }
    }
    return null;
  }

  /** Addresses are arrays of bytes in network order; other arrays have one number a side. */
  private static Place placeOf(StructSpec.Member member, int index) {
    final int offset = member.bitOffset() / Byte.SIZE;
    final int size =
        switch (member.scalar()) {
          case U8 -> 1;
          case U16, BE16 -> 2;
          case U32, BE32 -> 4;
          case U64 -> 8;
        };
    final boolean isAddress = member.scalar() == StructSpec.Scalar.U8 && member.count() > 2;
    final boolean isBigEndian =
        isAddress
            || member.scalar() == StructSpec.Scalar.BE16
            || member.scalar() == StructSpec.Scalar.BE32;
    return isAddress
        ? new Place(offset, member.count(), true)
        : new Place(offset + index * size, size, isBigEndian);
  }
}
