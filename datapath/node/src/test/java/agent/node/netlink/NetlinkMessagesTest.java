package agent.node.netlink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NetlinkMessagesTest {
  private static final byte[] MAC = {2, 0, 0, 0, 0, 1};
  private static final byte[] IPV4 = {10, 1, 0, 9};
  private static final byte[] IPV6 = IpAddress.parse("f00d::9").toBytes();

  private final ByteBuffer bytes = ByteBuffer.allocate(512).order(ByteOrder.nativeOrder());

  private NetlinkMessagesTest begin(int type) {
    bytes.clear().putInt(0).putShort((short) type).putShort((short) 0).putInt(1).putInt(0);
    return this;
  }

  private NetlinkMessagesTest put(int... header) {
    for (final int value : header) {
      bytes.put((byte) value);
    }
    return this;
  }

  private NetlinkMessagesTest putInt(int value) {
    bytes.putInt(value);
    return this;
  }

  private NetlinkMessagesTest attribute(int type, byte[] value) {
    bytes.putShort((short) (4 + value.length)).putShort((short) type).put(value);
    while (bytes.position() % 4 != 0) {
      bytes.put((byte) 0);
    }
    return this;
  }

  private NetlinkMessagesTest attribute(int type, int value) {
    return attribute(
        type, ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(value).array());
  }

  private NetlinkMessagesTest attribute(int type, String value) {
    return attribute(type, (value + '\0').getBytes(StandardCharsets.US_ASCII));
  }

  private <T> Optional<T> decode(Function<NetlinkMessageFlyweight, Optional<T>> decoder) {
    bytes.putInt(0, bytes.position());
    final NetlinkMessageFlyweight message = new NetlinkMessageFlyweight();
    assertTrue(message.wrap(bytes, bytes.position()).next());
    return decoder.apply(message);
  }

  private NetlinkMessagesTest veth() {
    begin(LinkMessage.RTM_NEWLINK).put(0, 0, 1, 0).putInt(12).putInt(0x1 | 0x40).putInt(0);
    attribute(3, "lxc1").attribute(1, MAC).attribute(4, 1450).attribute(5, 4).attribute(37, 0);
    final ByteBuffer kind = ByteBuffer.allocate(12).order(ByteOrder.nativeOrder());
    kind.putShort((short) 9).putShort((short) 1).put("veth".getBytes(StandardCharsets.US_ASCII));
    return attribute(18 | 0x8000, kind.array()).attribute(9999, "not known");
  }

  @Test
  void shouldReadALink() {
    assertEquals(
        new LinkMessage(
            12, "lxc1", MacAddress.parse("02:00:00:00:00:01"), 1450, true, true, "veth", 4, 0),
        veth().decode(LinkMessage::decode).orElseThrow());
  }

  @Test
  void shouldReadTheLargestPacketsOfALink() {
    veth().attribute(41, 1).attribute(58, 2).attribute(63, 3).attribute(64, 4);
    assertEquals(
        new LinkSizes(12, "lxc1", 1450, 2, 1, 4, 3), decode(LinkSizes::decode).orElseThrow());
  }

  /** Kernels before 6.3, which make no large packets of IPv4. */
  @ParameterizedTest
  @CsvSource({"1, 2, 1, 2", "65536, 65536, 65536, 65536", "110000, 100000, 65536, 65536"})
  void shouldTakeTheSizesOfIpv6ForIpv4WhereAKernelHasOneForBoth(
      int gso, int gro, int gsoIpv4, int groIpv4) {
    veth().attribute(41, gso).attribute(58, gro);
    assertEquals(
        new LinkSizes(12, "lxc1", 1450, gro, gso, groIpv4, gsoIpv4),
        decode(LinkSizes::decode).orElseThrow());
  }

  @Test
  void shouldReadALinkWithoutAHardwareAddressOfItsOwn() {
    // type 772, ARPHRD_LOOPBACK
    begin(LinkMessage.RTM_DELLINK).put(0, 0, 4, 3).putInt(1).putInt(0x40).putInt(0);
    assertEquals(
        new LinkMessage(1, "lo", null, 65536, false, true, null, 0, -1),
        attribute(3, "lo")
            .attribute(1, new byte[6])
            .attribute(4, 65536)
            .decode(LinkMessage::decode)
            .orElseThrow());
  }

  @Test
  void shouldNotDecodeARemovedBridgePortAsARemovedLink() {
    begin(LinkMessage.RTM_DELLINK).put(7, 0, 1, 0).putInt(12).putInt(1).putInt(0);
    assertEquals(Optional.empty(), attribute(3, "lxc1").decode(LinkMessage::decode));
  }

  @Test
  void shouldReadAddresses() {
    begin(AddressMessage.RTM_NEWADDR).put(2, 24, 0x80, 0).putInt(3);
    attribute(1, IPV4).attribute(2, IPV4).attribute(4, new byte[] {10, 1, 0, (byte) 255});
    assertEquals(
        new AddressMessage(
            IpAddress.parse("10.1.0.9"), 24, 3, 0x280, IpAddress.parse("10.1.0.255")),
        attribute(3, "eth0:1").attribute(8, 0x280).decode(AddressMessage::decode).orElseThrow());
    begin(AddressMessage.RTM_NEWADDR).put(10, 64, 0x2, 0).putInt(3);
    assertEquals(
        new AddressMessage(IpAddress.parse("f00d::9"), 64, 3, 2, null),
        attribute(1, IPV6).decode(AddressMessage::decode).orElseThrow());
  }

  @Test
  void shouldReadTheOwnAddressOfAPointToPointDevice() {
    begin(AddressMessage.RTM_NEWADDR).put(2, 30, 0, 0).putInt(3);
    assertEquals(
        new AddressMessage(IpAddress.parse("10.1.0.9"), 32, 3, 0, null),
        attribute(1, new byte[] {10, 1, 0, 10})
            .attribute(2, IPV4)
            .decode(AddressMessage::decode)
            .orElseThrow());
  }

  private NetlinkMessagesTest route() {
    begin(RouteMessage.RTM_NEWROUTE).put(2, 32, 0, 0, 254, 169, 253, 1).putInt(0);
    return attribute(15, 254).attribute(1, IPV4).attribute(4, 12).attribute(6, 77);
  }

  @Test
  void shouldReadRoutes() {
    assertEquals(
        new RouteMessage(
            Prefix.parse("10.1.0.9/32"),
            12,
            IpAddress.parse("10.1.0.2"),
            IpAddress.parse("10.1.0.1"),
            169,
            254,
            1,
            77),
        route()
            .attribute(7, new byte[] {10, 1, 0, 1})
            .attribute(5, new byte[] {10, 1, 0, 2})
            .decode(RouteMessage::decode)
            .orElseThrow());
  }

  @Test
  void shouldReadADefaultRouteOfSeveralNextHopsInALargeTable() {
    begin(RouteMessage.RTM_NEWROUTE).put(10, 0, 0, 0, 252, 3, 0, 1).putInt(0);
    final ByteBuffer hops = ByteBuffer.allocate(16).order(ByteOrder.nativeOrder());
    hops.putShort((short) 8).putShort((short) 0).putInt(5);
    hops.putShort((short) 8).putShort((short) 0).putInt(6);
    assertEquals(
        new RouteMessage(Prefix.ALL_IPV6, 5, null, null, 3, 1000, 1, 0),
        attribute(15, 1000).attribute(9, hops.array()).decode(RouteMessage::decode).orElseThrow());
  }

  /** The header of a route message shows whether it can be of a workload, or of the node. */
  @Test
  void shouldTellRoutesToOneAddressAndThoseOfTheLocalTable() {
    assertKind(2, 32, RouteMessage.TABLE_MAIN, true, false);
    assertKind(10, 128, RouteMessage.TABLE_MAIN, true, false);
    assertKind(2, 31, RouteMessage.TABLE_MAIN, false, false);
    assertKind(10, 32, RouteMessage.TABLE_MAIN, false, false);
    assertKind(128, 32, RouteMessage.TABLE_MAIN, false, false);
    assertKind(128, 128, RouteMessage.TABLE_MAIN, false, false);
    assertKind(2, 32, RouteMessage.TABLE_LOCAL, false, true);
    assertKind(10, 64, RouteMessage.TABLE_LOCAL, false, true);
    assertKind(128, 32, RouteMessage.TABLE_LOCAL, false, false);
    assertKind(2, 32, 252, false, false);
  }

  private void assertKind(int family, int length, int table, boolean isSingle, boolean isLocal) {
    final String what = "family " + family + "/" + length + ", table " + table;
    begin(RouteMessage.RTM_NEWROUTE).put(family, length, 0, 0, table, 169, 253, 1).putInt(0);
    assertEquals(
        Optional.of(isSingle), decode(m -> Optional.of(RouteMessage.isToSingleAddress(m))), what);
    assertEquals(
        Optional.of(isLocal), decode(m -> Optional.of(RouteMessage.isInLocalTable(m))), what);
  }

  /** RTN_LOCAL, RTN_BROADCAST and RTN_ANYCAST of the local table. */
  @Test
  void shouldTellTheRoutesToTheNodeItself() {
    for (int type = 0; type <= 6; type++) {
      final boolean isToNode = type >= 2 && type <= 4;
      assertEquals(isToNode, routeOf(RouteMessage.TABLE_LOCAL, type).isToThisNode(), "" + type);
      assertFalse(routeOf(RouteMessage.TABLE_MAIN, type).isToThisNode());
    }
  }

  private static RouteMessage routeOf(int table, int type) {
    return new RouteMessage(Prefix.parse("192.0.2.1/32"), 1, null, null, 2, table, type, 0);
  }

  private NetlinkMessagesTest neighbour() {
    begin(NeighbourMessage.RTM_NEWNEIGH).put(10, 0, 0, 0).putInt(12).put(0x80, 0, 0, 1);
    return attribute(1, IPV6).attribute(2, MAC).attribute(12, new byte[] {(byte) 169});
  }

  @Test
  void shouldReadANeighbour() {
    assertEquals(
        new NeighbourMessage(
            IpAddress.parse("f00d::9"), 12, MacAddress.parse("02:00:00:00:00:01"), 0x80, 169),
        neighbour().decode(NeighbourMessage::decode).orElseThrow());
    begin(NeighbourMessage.RTM_NEWNEIGH).put(2, 0, 0, 0).putInt(12).put(0x20, 0, 0, 1);
    assertNull(attribute(1, IPV4).decode(NeighbourMessage::decode).orElseThrow().mac());
  }

  @Test
  void shouldPassOverOtherFamiliesAndOtherMessages() {
    begin(RouteMessage.RTM_NEWROUTE).put(128, 32, 0, 0, 254, 169, 253, 1).putInt(0);
    assertEquals(Optional.empty(), decode(RouteMessage::decode));
    begin(NeighbourMessage.RTM_NEWNEIGH).put(7, 0, 0, 0).putInt(12).put(0x80, 0, 0, 1);
    assertEquals(Optional.empty(), decode(NeighbourMessage::decode));
    assertEquals(Optional.empty(), veth().decode(RouteMessage::decode));
    assertEquals(Optional.empty(), route().decode(LinkMessage::decode));
  }

  @Test
  void shouldRefuseValuesOfAnotherLength() {
    assertMalformed(veth().attribute(4, MAC), LinkMessage::decode);
    assertMalformed(route().attribute(1, IPV6), RouteMessage::decode);
    assertMalformed(route().attribute(4, new byte[3]), RouteMessage::decode);
    assertMalformed(route().attribute(9, new byte[4]), RouteMessage::decode);
    assertMalformed(neighbour().attribute(1, new byte[0]), NeighbourMessage::decode);
    begin(AddressMessage.RTM_NEWADDR).put(2, 33, 0, 0).putInt(3);
    assertMalformed(attribute(1, IPV4), AddressMessage::decode);
    begin(RouteMessage.RTM_NEWROUTE).put(10, 129, 0, 0, 254, 169, 253, 1).putInt(0);
    assertMalformed(attribute(1, IPV6), RouteMessage::decode);
    assertMalformed(begin(LinkMessage.RTM_NEWLINK).put(0, 0, 1, 0), LinkMessage::decode);
    begin(LinkMessage.RTM_NEWLINK).put(0, 0, 1, 0).putInt(12).putInt(1).putInt(0);
    assertMalformed(this, LinkMessage::decode);
    begin(NeighbourMessage.RTM_NEWNEIGH).put(10, 0, 0, 0).putInt(12).put(0x80, 0, 0, 1);
    assertMalformed(this, NeighbourMessage::decode);
    begin(AddressMessage.RTM_NEWADDR).put(2, 32, 0, 0).putInt(3);
    assertMalformed(this, AddressMessage::decode);
  }

  private static <T> void assertMalformed(
      NetlinkMessagesTest message, Function<NetlinkMessageFlyweight, Optional<T>> decoder) {
    assertThrows(NetlinkException.class, () -> message.decode(decoder));
  }

  @Test
  void shouldDecodeOrRefuseArbitraryBytes() {
    final Random random = new Random(20261121);
    final List<Runnable> messages =
        List.of(
            this::veth,
            this::route,
            this::neighbour,
            () ->
                begin(AddressMessage.RTM_NEWADDR)
                    .put(2, 24, 0, 0)
                    .putInt(3)
                    .attribute(1, IPV4)
                    .attribute(8, 1));
    final List<Function<NetlinkMessageFlyweight, Optional<?>>> decoders =
        List.of(
            message -> LinkMessage.decode(message),
            message -> RouteMessage.decode(message),
            message -> NeighbourMessage.decode(message),
            message -> AddressMessage.decode(message));
    final NetlinkMessageFlyweight message = new NetlinkMessageFlyweight();
    int read = 0;
    int refused = 0;
    for (int i = 0; i < 200_000; i++) {
      final int kind = random.nextInt(messages.size());
      messages.get(kind).run();
      bytes.putInt(0, bytes.position());
      for (int n = random.nextInt(4); n > 0; n--) {
        bytes.put(random.nextInt(bytes.position()), (byte) random.nextInt());
      }
      final int length = bytes.position() - (random.nextBoolean() ? 0 : random.nextInt(40));
      bytes.putInt(0, random.nextInt(8) == 0 ? bytes.getInt(0) : length);
      try {
        message.wrap(bytes, length);
        while (message.next()) {
          read += decoders.get(kind).apply(message).isPresent() ? 1 : 0;
        }
      } catch (NetlinkException failure) {
        refused++;
      }
    }
    assertTrue(read > 10_000 && refused > 10_000, read + " read, " + refused + " refused");
  }
}
