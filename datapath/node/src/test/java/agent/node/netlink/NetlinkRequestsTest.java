package agent.node.netlink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/**
 * The bytes of the requests. The kernel's answers have the layout of requests, so that a decoded
 * request is the object that it was made of.
 */
class NetlinkRequestsTest {
  private static final int REQUEST = 0x1;
  private static final int ACK = 0x4;
  private static final int DUMP = 0x300;
  private static final int REPLACE = 0x100;
  private static final int EXCL = 0x200;
  private static final int CREATE = 0x400;
  private static final int HEADER = 16;

  private static final IpAddress IPV4 = IpAddress.parse("10.1.0.9");
  private static final IpAddress IPV6 = IpAddress.parse("f00d::9");
  private static final MacAddress MAC = MacAddress.parse("02:00:00:00:00:01");

  private static ByteBuffer bytes(NetlinkRequest request) {
    return request.encode(1).order(ByteOrder.nativeOrder());
  }

  private static <T> T decoded(
      NetlinkRequest request, Function<NetlinkMessageFlyweight, Optional<T>> decoder) {
    final ByteBuffer bytes = bytes(request);
    final NetlinkMessageFlyweight message = new NetlinkMessageFlyweight();
    assertTrue(message.wrap(bytes, bytes.remaining()).next());
    return decoder.apply(message).orElseThrow();
  }

  private static void assertHeader(int type, int flags, NetlinkRequest request) {
    final ByteBuffer bytes = bytes(request);
    assertEquals(bytes.remaining(), bytes.getInt(0));
    assertEquals(type, bytes.getShort(4));
    assertEquals(REQUEST | ACK | flags, bytes.getShort(6));
  }

  /** Asserts what follows the header of a request. */
  private static void assertContent(NetlinkRequest request, int... expected) {
    final ByteBuffer bytes = bytes(request);
    final byte[] content = new byte[bytes.remaining() - HEADER];
    bytes.position(HEADER).get(content);
    assertEquals(expected.length, content.length);
    for (int i = 0; i < expected.length; i++) {
      assertEquals((byte) expected[i], content[i], "byte " + i);
    }
  }

  @Test
  void shouldAddARouteThatItReadsBackAsTheSame() {
    for (final RouteMessage route :
        List.of(
            new RouteMessage(
                Prefix.of(IPV4), 12, null, IpAddress.parse("10.1.0.1"), 169, 254, 1, 0),
            new RouteMessage(Prefix.of(IPV6), 12, null, null, 169, 254, 1, 0))) {
      assertEquals(route, decoded(route.addRequest(), RouteMessage::decode));
      assertHeader(24, CREATE | EXCL, route.addRequest());
    }
  }

  @Test
  void shouldAddIpv4RoutesWithLinkScopeAndIpv6RoutesWithUniverseScope() {
    final int scope = HEADER + 6;
    final RouteMessage ipv4 = new RouteMessage(Prefix.of(IPV4), 12, null, null, 169, 254, 1, 0);
    final RouteMessage ipv6 = new RouteMessage(Prefix.of(IPV6), 12, null, null, 169, 254, 1, 0);
    assertEquals((byte) 253, bytes(ipv4.addRequest()).get(scope));
    assertEquals(0, bytes(ipv6.addRequest()).get(scope));
    assertEquals((byte) 255, bytes(ipv4.deleteRequest()).get(scope));
  }

  /** A removal names destination, device, table and protocol; the source is not compared. */
  @Test
  void shouldRemoveARouteByDestinationDeviceTableAndProtocol() {
    final RouteMessage route =
        new RouteMessage(Prefix.of(IPV4), 12, null, IpAddress.parse("10.1.0.1"), 169, 254, 1, 0);
    assertEquals(
        new RouteMessage(Prefix.of(IPV4), 12, null, null, 169, 254, 0, 0),
        decoded(route.deleteRequest(), RouteMessage::decode));
    assertHeader(25, 0, route.deleteRequest());
    assertEquals("route 10.1.0.9/32 through link 12: add", route.addRequest().operation());
    assertEquals("route 10.1.0.9/32 through link 12: delete", route.deleteRequest().operation());
  }

  @Test
  void shouldListTheRoutesOfATable() {
    assertHeader(26, DUMP, RouteMessage.list(true, 254, 169));
    assertContent(RouteMessage.list(true, 254, 169), 2, 0, 0, 0, 254, 169, 0, 0, 0, 0, 0, 0);
    assertContent(RouteMessage.list(false, 254, 0), 10, 0, 0, 0, 254, 0, 0, 0, 0, 0, 0, 0);
    assertContent(RouteMessage.list(true, 255, 0), 2, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0);
    assertEquals("IPv4 routes: list", RouteMessage.list(true, 254, 0).operation());
    assertEquals("IPv6 routes: list", RouteMessage.list(false, 254, 0).operation());
  }

  @Test
  void shouldReplaceANeighbourThatItReadsBackAsTheSame() {
    for (final IpAddress address : List.of(IPV4, IPV6)) {
      final NeighbourMessage neighbour =
          new NeighbourMessage(address, 12, MAC, NeighbourMessage.STATE_PERMANENT, 169);
      assertEquals(neighbour, decoded(neighbour.replaceRequest(), NeighbourMessage::decode));
      assertHeader(28, CREATE | REPLACE, neighbour.replaceRequest());
    }
  }

  @Test
  void shouldRemoveANeighbourByAddressAndDevice() {
    final NeighbourMessage neighbour =
        new NeighbourMessage(IPV4, 12, MAC, NeighbourMessage.STATE_PERMANENT, 169);
    assertEquals(
        new NeighbourMessage(IPV4, 12, null, 0, 0),
        decoded(neighbour.deleteRequest(), NeighbourMessage::decode));
    assertHeader(29, 0, neighbour.deleteRequest());
    assertEquals("neighbour 10.1.0.9 on link 12: delete", neighbour.deleteRequest().operation());
  }

  @Test
  void shouldListTheNeighboursOfBothFamilies() {
    assertHeader(30, DUMP, NeighbourMessage.list());
    assertContent(NeighbourMessage.list(), new int[12]);
  }

  @Test
  void shouldAddAnAddressThatItReadsBackAsTheSame() {
    for (final IpAddress address : List.of(IPV4, IPV6)) {
      final AddressMessage own =
          new AddressMessage(address, address.bitLength(), 1, AddressMessage.IFA_F_NODAD, null);
      assertEquals(own, decoded(own.addRequest(), AddressMessage::decode));
      assertHeader(20, CREATE | EXCL, own.addRequest());
      assertEquals(
          new AddressMessage(address, address.bitLength(), 1, 0, null),
          decoded(own.deleteRequest(), AddressMessage::decode));
      assertHeader(21, 0, own.deleteRequest());
    }
    assertEquals(
        "address 10.1.0.9/32 of link 1: add",
        new AddressMessage(IPV4, 32, 1, 0, null).addRequest().operation());
  }

  @Test
  void shouldListTheAddressesOfBothFamilies() {
    assertHeader(22, DUMP, AddressMessage.list());
    assertContent(AddressMessage.list(), new int[8]);
  }

  private static LinkMessage veth(int peerIndex, int peerNamespaceId) {
    return new LinkMessage(12, "lxc1", MAC, 1500, true, true, "veth", peerIndex, peerNamespaceId);
  }

  /** The third word holds the flags, the fourth one says which of them change. */
  @Test
  void shouldChangeOnlyTheUpFlagOfADevice() {
    assertHeader(16, 0, veth(4, 0).upRequest());
    assertWords(veth(4, 0).upRequest(), 0, 12, 1, 1);
    assertHeader(16, 0, veth(4, 0).downRequest());
    assertWords(veth(4, 0).downRequest(), 0, 12, 0, 1);
    assertEquals("link 'lxc1': set up", veth(4, 0).upRequest().operation());
    assertEquals("link 'lxc1': set down", veth(4, 0).downRequest().operation());
  }

  private static void assertWords(NetlinkRequest request, int... words) {
    final ByteBuffer bytes = bytes(request).position(HEADER);
    for (int i = 0; i < words.length; i++) {
      assertEquals(words[i], bytes.getInt(), "word " + i);
    }
    assertEquals(0, bytes.remaining());
  }

  /** The mask omits statistics: attribute 29 with value 8. */
  @Test
  void shouldAskForDevicesWithoutStatistics() {
    final int mask = 29 << 16 | 8;
    assertHeader(18, DUMP, LinkMessage.list());
    assertWords(LinkMessage.list(), 0, 0, 0, 0, mask, 8);
    assertHeader(18, 0, LinkMessage.byIndex(12));
    assertWords(LinkMessage.byIndex(12), 0, 12, 0, 0, mask, 8);
    assertHeader(18, 0, LinkMessage.byName("lxc1"));
    assertEquals("link 'lxc1': get", LinkMessage.byName("lxc1").operation());
    final ByteBuffer byName = bytes(LinkMessage.byName("lxc1"));
    final byte[] name = new byte[5];
    byName.position(HEADER + 16 + 8 + 4).get(name);
    assertArrayEquals(new byte[] {'l', 'x', 'c', '1', 0}, name);
  }

  /** Attribute 46 names the namespace of the answer; without it the peer is in this one. */
  @Test
  void shouldAskForThePeerInItsNamespace() {
    final int mask = 29 << 16 | 8;
    assertWords(veth(4, -1).peer(), 0, 4, 0, 0, mask, 8);
    assertWords(veth(4, 0).peer(), 0, 4, 0, 0, mask, 8, 46 << 16 | 8, 0);
    assertWords(veth(4, 3).peer(), 0, 4, 0, 0, mask, 8, 46 << 16 | 8, 3);
    assertHeader(18, 0, veth(4, 3).peer());
  }
}
