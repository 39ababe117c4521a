package agent.maps.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.AggregationLevel;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DeviceEntryFlyweight;
import agent.maps.layout.DropReason;
import agent.maps.layout.EarlyFragmentFlyweight;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EndpointRatesFlyweight;
import agent.maps.layout.FlowUsageFlyweight;
import agent.maps.layout.Fragment4KeyFlyweight;
import agent.maps.layout.Fragment6KeyFlyweight;
import agent.maps.layout.FragmentEntryFlyweight;
import agent.maps.layout.InterfaceCellFlyweight;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.MetricsEntryFlyweight;
import agent.maps.layout.MetricsIndex;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.maps.layout.PortUsageFlyweight;
import agent.maps.layout.PrefilterTable;
import agent.maps.layout.RedirectSocketFlyweight;
import agent.maps.layout.RedirectSocketKeyFlyweight;
import agent.maps.layout.ShareRateFlyweight;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MapFormatTest {
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[64]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[EarlyFragmentFlyweight.LENGTH]);

  private String keyText(MapFormat format) {
    final StringBuilder out = new StringBuilder();
    format.appendKey(out, key, 0, value, 0);
    return out.toString();
  }

  private String valueText(MapFormat format) {
    final StringBuilder out = new StringBuilder();
    format.appendValue(out, key, 0, value, 0);
    return out.toString();
  }

  @Test
  void shouldFormatDevicesWithTheAddressesOfTheirFlows() {
    key.putInt(0, 2);
    final DeviceEntryFlyweight device = new DeviceEntryFlyweight().wrap(value, 0).state(1);
    assertEquals("interface 2", keyText(MapFormats.DEVICES));
    assertEquals("guarded 1", valueText(MapFormats.DEVICES));
    device.ipv4(0xc000_0201).ipv6(0x2001_0db8_0000_0000L, 7);
    assertEquals("guarded 1 ipv4 192.0.2.1 ipv6 2001:db8::7", valueText(MapFormats.DEVICES));
  }

  @Test
  void shouldFormatAWatchedAddress() {
    key.putLong(0, 0);
    key.putLong(8, 0x0000_ffff_c000_0207L, java.nio.ByteOrder.BIG_ENDIAN);
    value.putInt(0, 3);
    assertEquals("192.0.2.7", keyText(MapFormats.WATCHED_ADDRESSES));
    assertEquals("flows 3", valueText(MapFormats.WATCHED_ADDRESSES));
    key.putLong(0, 0x2001_0db8_0000_0000L, java.nio.ByteOrder.BIG_ENDIAN);
    key.putLong(8, 7, java.nio.ByteOrder.BIG_ENDIAN);
    assertEquals("2001:db8::7", keyText(MapFormats.WATCHED_ADDRESSES));
  }

  @Test
  void shouldFormatASocketOfAProxy() {
    final RedirectSocketKeyFlyweight socket =
        new RedirectSocketKeyFlyweight().wrap(key, 0).port(40_001).protocol(6).family(4);
    final RedirectSocketFlyweight flow =
        new RedirectSocketFlyweight()
            .wrap(value, 0)
            .client(0x0a01_0007_0000_0000L, 0)
            .clientPort(43_210)
            .server(0x0a01_0009_0000_0000L, 0)
            .serverPort(80);
    assertEquals("TCP/40001", keyText(MapFormats.REDIRECT_SOCKETS));
    assertEquals("10.1.0.7:43210 -> 10.1.0.9:80", valueText(MapFormats.REDIRECT_SOCKETS));
    socket.family(6);
    flow.client(0x2001_0db8_0000_0000L, 7).server(0x2001_0db8_0000_0000L, 9);
    assertEquals("[2001:db8::7]:43210 -> [2001:db8::9]:80", valueText(MapFormats.REDIRECT_SOCKETS));
  }

  @ParameterizedTest
  @CsvSource({
    "2031, 0, 6, 443, 64, ingress identity 2031 TCP/443",
    "2031, 1, 17, 0, 48, egress identity 2031 UDP",
    "2031, 0, 0, 0, 40, ingress identity 2031",
    "0, 1, 6, 80, 64, egress any identity TCP/80",
    "0, 0, 0, 0, 40, ingress any identity",
    "16777217, 0, 6, 8000, 58, ingress identity 16777217 TCP/8000-8063",
    "-1, 0, 132, 0, 49, ingress identity 4294967295 SCTP/0-32767",
    "9, 0, 58, 128, 64, ingress identity 9 ICMPv6/128",
    "9, 1, 47, 0, 48, egress identity 9 protocol 47",
  })
  void shouldFormatAPolicyKey(
      int identity, int direction, int protocol, int port, int prefixLength, String text) {
    new PolicyKeyFlyweight()
        .wrap(key, 0)
        .identity(identity)
        .direction(direction)
        .protocol(protocol)
        .port(port)
        .prefixLength(prefixLength);
    assertEquals(text, keyText(MapFormats.POLICY));
  }

  @Test
  void shouldFormatAPolicyEntry() {
    final PolicyEntryFlyweight entry = new PolicyEntryFlyweight().wrap(value, 0);
    assertEquals("allow", valueText(MapFormats.POLICY));
    entry.flags(PolicyFlag.DENY.number());
    assertEquals("deny", valueText(MapFormats.POLICY));
    entry.flags(PolicyFlag.REDIRECT.number() | PolicyFlag.AUDIT.number()).redirect(10443);
    assertEquals("allow, redirect to proxy 10443, audit", valueText(MapFormats.POLICY));
  }

  private Conntrack4KeyFlyweight flow4() {
    return new Conntrack4KeyFlyweight()
        .wrap(key, 0)
        .lowAddress(0x0a010007)
        .lowPort(43210)
        .highAddress(0x0a010009)
        .highPort(80)
        .protocol(6);
  }

  @Test
  void shouldFormatAFlowInTheDirectionOfItsInitiator() {
    flow4();
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(value, 0);
    assertEquals("10.1.0.7:43210 -> 10.1.0.9:80 TCP", keyText(MapFormats.CONNTRACK4));
    entry.party(0, 7);
    assertEquals("10.1.0.7:43210 -> 10.1.0.9:80 TCP out", keyText(MapFormats.CONNTRACK4));
    entry.party(1, 8);
    assertEquals("10.1.0.7:43210 -> 10.1.0.9:80 TCP local", keyText(MapFormats.CONNTRACK4));
    entry.flags(ConntrackFlag.INITIATOR_HIGH.number()).party(1, 0);
    assertEquals("10.1.0.9:80 -> 10.1.0.7:43210 TCP in", keyText(MapFormats.CONNTRACK4));
    entry.party(0, 0).party(1, 8);
    assertEquals("10.1.0.9:80 -> 10.1.0.7:43210 TCP out", keyText(MapFormats.CONNTRACK4));
  }

  @Test
  void shouldFormatAFlowWithoutValueWithoutDirection() {
    flow4();
    final StringBuilder out = new StringBuilder();
    MapFormats.CONNTRACK4.appendKey(out, key, 0, null, 0);
    assertEquals("10.1.0.7:43210 <-> 10.1.0.9:80 TCP", out.toString());
  }

  @Test
  void shouldFormatAnIpv6FlowAndAnEcho() {
    final Conntrack6KeyFlyweight flow =
        new Conntrack6KeyFlyweight()
            .wrap(key, 0)
            .lowAddress(0xfd00_0000_0000_0000L, 1)
            .lowPort(5353)
            .highAddress(0xfd00_0000_0000_0000L, 2)
            .highPort(53)
            .protocol(17);
    assertEquals("[fd00::1]:5353 -> [fd00::2]:53 UDP", keyText(MapFormats.CONNTRACK6));
    flow.protocol(58).lowPort(77).highPort(0);
    assertEquals("fd00::1 -> fd00::2 ICMPv6 id 77", keyText(MapFormats.CONNTRACK6));
    flow4().protocol(1).lowPort(0).highPort(9);
    assertEquals("10.1.0.7 -> 10.1.0.9 ICMP id 9", keyText(MapFormats.CONNTRACK4));
  }

  @Test
  void shouldFormatTheStateOfAFlow() {
    final ConntrackEntryFlyweight entry =
        new ConntrackEntryFlyweight()
            .wrap(value, 0)
            .expiresNs(12_345_678_900_000L)
            .identity(0, 2031)
            .identity(1, 9)
            .party(0, 7)
            .party(1, 513)
            .flags(ConntrackFlag.OUTSIDE_HIGH.number())
            .generation(-2)
            .packets(0, 5)
            .packets(1, 6)
            .bytes(0, 700)
            .bytes(1, 800);
    assertEquals(
        "opening, expires at uptime 12345.6 s, identities 2031 -> 9, endpoints 7 -> 0,"
            + " generation 18446744073709551614, packets 5/6, bytes 700/800",
        valueText(MapFormats.CONNTRACK4));
    entry.flags(
        ConntrackFlag.INITIATOR_HIGH.number()
            | ConntrackFlag.SEEN_REPLY.number()
            | ConntrackFlag.OUTSIDE_HIGH.number());
    assertEquals(
        "established, expires at uptime 12345.6 s, identities 9 -> 2031, endpoints 0 -> 7,"
            + " generation 18446744073709551614, packets 6/5, bytes 800/700",
        valueText(MapFormats.CONNTRACK4));
    entry.flags(ConntrackFlag.SEEN_FIN_LOW.number() | ConntrackFlag.SEEN_REPLY.number());
    assertTrue(valueText(MapFormats.CONNTRACK4).startsWith("established,"));
    entry.flags(ConntrackFlag.SEEN_FIN_LOW.number() | ConntrackFlag.SEEN_FIN_HIGH.number());
    assertTrue(valueText(MapFormats.CONNTRACK4).startsWith("closing,"));
    entry.flags(ConntrackFlag.DENIED.number()).dropReason(DropReason.POLICY_DENIED.number());
    assertTrue(valueText(MapFormats.CONNTRACK4).startsWith("denied (policy-denied),"));
  }

  @Test
  void shouldFormatPrefixes() {
    new Ipcache4KeyFlyweight().wrap(key, 0).prefixLength(8).address(0x0a000000);
    new IpcacheEntryFlyweight().wrap(value, 0).identity(16777217);
    assertEquals("10.0.0.0/8", keyText(MapFormats.IPCACHE4));
    assertEquals("identity 16777217", valueText(MapFormats.IPCACHE4));
    new IpcacheEntryFlyweight()
        .wrap(value, 0)
        .identity(1)
        .endpointId(12)
        .flags(IpcacheFlag.HOST.number());
    assertEquals("identity 1 endpoint 12 host", valueText(MapFormats.IPCACHE4));
    new Ipcache6KeyFlyweight().wrap(key, 0).prefixLength(32).address(0x2001_0db8_0000_0000L, 0);
    assertEquals("2001:db8::/32", keyText(MapFormats.IPCACHE6));
  }

  @Test
  void shouldFormatTheTablesOfThePrefilter() {
    final MapFormat list = MapFormats.prefilterTable(PrefilterTable.LIST);
    assertFalse(list.present(value, 0));
    words(0, 0x0a010000L, 16, 4);
    assertTrue(list.present(value, 0));
    assertEquals("10.1.0.0/16 deny", keyText(list) + " " + valueText(list));
    words(0x2001_0db8_0000_0000L, 0, 32, 6);
    assertEquals("2001:db8::/32 deny", keyText(list) + " " + valueText(list));

    final MapFormat ipv4 = MapFormats.prefilterTable(PrefilterTable.IPV4);
    key.putInt(0, 0x0a0100 >>> 7);
    words(131_072L << 32 | 0b101, 0, 131_074L << 32 | 1L << 31, 0);
    assertEquals("block 10.1.0.0", keyText(ipv4));
    assertEquals(
        "10.1.0.0/24 leaf 131072, 10.1.2.0/24 leaf 131073, 10.1.95.0/24 leaf 131074",
        valueText(ipv4));
    final long host = 0x1fff_0000L >> 3 | 0x203; // 10.1.2.3/32
    final long half = 0x1f80_0000L >> 3 | 0x1f80; // 10.1.31.128/25
    words(1L << 63 | host | half << 26, 0, 1L << 63 | host | host << 26, 0);
    assertEquals("10.1.2.3/32, 10.1.31.128/25, 10.1.66.3/32", valueText(ipv4));
    key.putInt(0, 131_072);
    words(0b10, -1, 1, 1L << 63);
    assertEquals("leaf 131072: 1, 64-128, 255", keyText(ipv4) + ": " + valueText(ipv4));

    final MapFormat ipv6 = MapFormats.prefilterTable(PrefilterTable.IPV6);
    key.putInt(0, 10);
    words(0, 65_538L << 32 | 65_536, 0, 65_539L << 32 | 65_538);
    assertEquals("bucket 40", keyText(ipv6));
    assertEquals(
        "bucket 41 entries 65536 to 65537, bucket 43 entries 65538 to 65538", valueText(ipv6));
    key.putInt(0, 65_536);
    words(0x2001_0db8_0000_0000L, 0, 0x2001_0db8_0000_ffffL, -1);
    assertEquals("entry 65536: 2001:db8::/48", keyText(ipv6) + ": " + valueText(ipv6));
    words(1, 2, 1, 2);
    assertEquals("::1:0:0:0:2/128", valueText(ipv6));
  }

  /** The bytes behind a slot are those of the next one. */
  @Test
  void shouldReadNoFurtherThanTheSlot() {
    value.setMemory(0, 128, (byte) 0xff);
    words(0, 0, 0, 0);
    final MapFormat ipv4 = MapFormats.prefilterTable(PrefilterTable.IPV4);
    final MapFormat ipv6 = MapFormats.prefilterTable(PrefilterTable.IPV6);
    key.putInt(0, 0);
    assertFalse(MapFormats.prefilterTable(PrefilterTable.LIST).present(value, 0));
    assertFalse(ipv4.present(value, 0));
    assertEquals("", valueText(ipv4));
    assertEquals("", valueText(ipv6));
    key.putInt(0, 131_072);
    words(0, 0, 0, 3L << 62);
    assertEquals("254-255", valueText(ipv4));
  }

  @Test
  void shouldFormatTwoPrefixesOfABlock() {
    key.putInt(0, 0x0a0100 >>> 7);
    final long host = 0x1fff_0000L >> 3 | 0x203;
    final long other = 0x1fff_0000L >> 3 | 0x307;
    words(0, 0, 1L << 63 | host | other << 26, 0);
    assertEquals(
        "10.1.66.3/32, 10.1.67.7/32", valueText(MapFormats.prefilterTable(PrefilterTable.IPV4)));
  }

  @Test
  void shouldNameAnEntryOfTheListByItsSlotWhereItsValueIsGone() {
    key.putInt(0, 7);
    final StringBuilder out = new StringBuilder();
    MapFormats.prefilterTable(PrefilterTable.LIST).appendKey(out, key, 0, null, 0);
    assertEquals("prefix 7", out.toString());
  }

  private void words(long first, long second, long third, long fourth) {
    value.putLong(0, first);
    value.putLong(8, second);
    value.putLong(16, third);
    value.putLong(24, fourth);
  }

  @Test
  void shouldFormatEndpointsAndSkipUnusedSlots() {
    key.putInt(0, 12);
    assertFalse(MapFormats.ENDPOINTS.present(value, 0));
    new EndpointEntryFlyweight()
        .wrap(value, 0)
        .ifindex(7)
        .identity(2031)
        .mac(0x0200_5e10_2030L)
        .hostMac(0x0a0b_0c0d_0e0fL)
        .options(EndpointOption.CONNTRACK.number() | EndpointOption.POLICY_AUDIT_MODE.number())
        .aggregation(AggregationLevel.MEDIUM.number())
        .hasIpv4(true)
        .ipv4(0x0a000002)
        .policyId(3);
    assertTrue(MapFormats.ENDPOINTS.present(value, 0));
    assertEquals("endpoint 12", keyText(MapFormats.ENDPOINTS));
    assertEquals(
        "interface 7 identity 2031 mac 02:00:5e:10:20:30 host-mac 0a:0b:0c:0d:0e:0f ipv4 10.0.0.2"
            + " policy 3 options [conntrack,policy-audit-mode] aggregation medium",
        valueText(MapFormats.ENDPOINTS));
    new EndpointEntryFlyweight().wrap(value, 0).clear().hasIpv6(true).ipv6(0xfd00L << 48, 2);
    assertEquals(
        "interface 0 identity 0 mac 00:00:00:00:00:00 host-mac 00:00:00:00:00:00 ipv6 fd00::2"
            + " policy 0 options [] aggregation none",
        valueText(MapFormats.ENDPOINTS));
  }

  @Test
  void shouldFormatCellsOfInterfacesAndSkipEmptyOnes() {
    key.putInt(0, 7);
    assertFalse(MapFormats.INTERFACES.present(value, 0));
    new InterfaceCellFlyweight().wrap(value, 0).ifindex(65_543).endpointId(12);
    assertTrue(MapFormats.INTERFACES.present(value, 0));
    assertEquals("cell 7", keyText(MapFormats.INTERFACES));
    assertEquals("interface 65543 endpoint 12", valueText(MapFormats.INTERFACES));
  }

  @Test
  void shouldFormatTheUsageOfEndpointsAndSkipThoseWithout() {
    key.putInt(0, 12);
    value.setMemory(0, FlowUsageFlyweight.LENGTH, (byte) 0);
    assertFalse(MapFormats.FLOW_USAGE.present(value, 0));
    value.putInt(FlowUsageFlyweight.OPENED_OFFSET + 4, 10);
    value.putInt(FlowUsageFlyweight.CREDIT_OFFSET + 4, 10);
    assertFalse(MapFormats.FLOW_USAGE.present(value, 0));
    value.putInt(FlowUsageFlyweight.CREDIT_OFFSET + 4, 7);
    value.putInt(FlowUsageFlyweight.CREDIT_OFFSET + 8, -5);
    assertTrue(MapFormats.FLOW_USAGE.present(value, 0));
    assertEquals("endpoint 12", keyText(MapFormats.FLOW_USAGE));
    assertEquals("any4 3 tcp6 5 overflowed 0", valueText(MapFormats.FLOW_USAGE));
    value.setMemory(0, FlowUsageFlyweight.LENGTH, (byte) 0);
    value.putLong(FlowUsageFlyweight.OVERFLOWED_OFFSET, 9);
    assertTrue(MapFormats.FLOW_USAGE.present(value, 0));
    assertEquals("overflowed 9", valueText(MapFormats.FLOW_USAGE));
    value.setMemory(0, FlowUsageFlyweight.LENGTH, (byte) 0);
    value.putInt(FlowUsageFlyweight.OPENED_OFFSET, 3);
    value.putInt(FlowUsageFlyweight.CREDIT_OFFSET, 3);
    assertFalse(MapFormats.FLOW_USAGE.present(value, 0), "all flows have ended");
    assertEquals("overflowed 0", valueText(MapFormats.FLOW_USAGE));
  }

  @Test
  void shouldFormatThePortsOfAnEndpoint() {
    key.putInt(0, 12);
    value.setMemory(0, PortUsageFlyweight.LENGTH, (byte) 0);
    assertFalse(MapFormats.PORT_USAGE.present(value, 0));
    value.putLong(PortUsageFlyweight.REFUSED_OFFSET, 3);
    assertTrue(MapFormats.PORT_USAGE.present(value, 0));
    assertEquals("endpoint 12", keyText(MapFormats.PORT_USAGE));
    assertEquals("replaced 0 refused 3", valueText(MapFormats.PORT_USAGE));
    value.putLong(PortUsageFlyweight.REPLACED_OFFSET, 7);
    value.putLong(PortUsageFlyweight.REFUSED_OFFSET, 0);
    assertTrue(MapFormats.PORT_USAGE.present(value, 0));
    assertEquals("replaced 7 refused 0", valueText(MapFormats.PORT_USAGE));
  }

  @Test
  void shouldFormatWhatWasLimitedForAnEndpoint() {
    key.putInt(0, 12);
    value.setMemory(0, EndpointRatesFlyweight.LENGTH, (byte) 0);
    value.putInt(ShareRateFlyweight.COUNT_OFFSET, 5);
    assertFalse(MapFormats.ENDPOINT_RATES.present(value, 0));
    value.putLong(EndpointRatesFlyweight.EVENTS_OFFSET + ShareRateFlyweight.EXCEEDED_OFFSET, 7);
    assertTrue(MapFormats.ENDPOINT_RATES.present(value, 0));
    assertEquals("endpoint 12", keyText(MapFormats.ENDPOINT_RATES));
    assertEquals(
        "events suppressed 7 fragments overflowed 0", valueText(MapFormats.ENDPOINT_RATES));
    value.setMemory(0, EndpointRatesFlyweight.LENGTH, (byte) 0);
    value.putLong(EndpointRatesFlyweight.FRAGMENTS_OFFSET + ShareRateFlyweight.EXCEEDED_OFFSET, 3);
    assertTrue(MapFormats.ENDPOINT_RATES.present(value, 0));
    assertEquals(
        "events suppressed 0 fragments overflowed 3", valueText(MapFormats.ENDPOINT_RATES));
  }

  @Test
  void shouldFormatCounters() {
    key.putInt(0, MetricsDirection.EGRESS.number() << 8 | DropReason.INVALID_SOURCE_MAC.number());
    new MetricsEntryFlyweight().wrap(value, 0).packets(12).bytes(1320);
    assertEquals("egress invalid-source-mac", keyText(MapFormats.METRICS));
    assertEquals("12 packets, 1320 bytes", valueText(MapFormats.METRICS));
    key.putInt(0, MetricsDirection.NETWORK.number() << 8);
    assertEquals("network forwarded", keyText(MapFormats.METRICS));
    key.putInt(0, 200);
    assertEquals("ingress reason 200", keyText(MapFormats.METRICS));
    final int first = DropReason.values().length;
    key.putInt(0, 3 << 8 | first);
    assertEquals("direction 3 reason " + first, keyText(MapFormats.METRICS));
    assertEquals(3, MetricsDirection.values().length);
    assertTrue(MapFormats.METRICS.present(value, 0));
    new MetricsEntryFlyweight().wrap(value, 16).packets(0).bytes(7);
    assertFalse(MapFormats.METRICS.present(value, 16), "nothing was counted");
    new MetricsEntryFlyweight().wrap(value, 16).packets(1L << 40);
    assertTrue(MapFormats.METRICS.present(value, 16));
  }

  @Test
  void shouldFindTheCounterOfADirectionAndAReason() {
    final int index = MetricsIndex.index(MetricsDirection.NETWORK.number(), 5);
    assertEquals(2 << 8 | 5, index);
    assertEquals(2, MetricsIndex.direction(index));
    assertEquals(5, MetricsIndex.reason(index));
  }

  @Test
  void shouldFormatAFragmentThatWaits() {
    key.putInt(0, 1023);
    assertFalse(MapFormats.EARLY_FRAGMENTS.present(value, 0));
    value.putInt(EarlyFragmentFlyweight.STATE_OFFSET, 2);
    value.putShort(EarlyFragmentFlyweight.LENGTH_OFFSET, (short) 1514);
    value.putByte(EarlyFragmentFlyweight.FRAME_OFFSET, (byte) 'x');
    final int datagram = EarlyFragmentFlyweight.DATAGRAM_OFFSET;
    final int family = datagram + Fragment6KeyFlyweight.RESERVED_OFFSET;
    new Fragment6KeyFlyweight()
        .wrap(value, datagram)
        .sourceAddress(0x0a01_0007_0000_0000L, 0)
        .destinationAddress(0x0a01_0009_0000_0000L, 0)
        .id(4660 << 16)
        .protocol(17);
    value.putByte(family, (byte) 4);
    assertTrue(MapFormats.EARLY_FRAGMENTS.present(value, 0));
    assertEquals("place 1023", keyText(MapFormats.EARLY_FRAGMENTS));
    assertEquals(
        "10.1.0.7 -> 10.1.0.9 UDP id 4660, 1514 bytes", valueText(MapFormats.EARLY_FRAGMENTS));
    new Fragment6KeyFlyweight()
        .wrap(value, datagram)
        .sourceAddress(0, 1)
        .destinationAddress(0, 2)
        .id(-1)
        .protocol(6);
    value.putByte(family, (byte) 6);
    assertEquals("::1 -> ::2 TCP id 4294967295, 1514 bytes", valueText(MapFormats.EARLY_FRAGMENTS));
  }

  @Test
  void shouldFormatFragmentsAndPlainSlots() {
    new Fragment4KeyFlyweight()
        .wrap(key, 0)
        .sourceAddress(0x0a010007)
        .destinationAddress(0x0a010009)
        .id(4660)
        .protocol(17);
    new FragmentEntryFlyweight().wrap(value, 0).sourcePort(5353).destinationPort(53);
    assertEquals("10.1.0.7 -> 10.1.0.9 UDP id 4660", keyText(MapFormats.FRAGMENTS4));
    assertEquals("ports 5353 -> 53", valueText(MapFormats.FRAGMENTS4));
    new Fragment6KeyFlyweight()
        .wrap(key, 0)
        .clear()
        .sourceAddress(0, 1)
        .destinationAddress(0, 2)
        .id(-1)
        .protocol(6);
    assertEquals("::1 -> ::2 TCP id 4294967295", keyText(MapFormats.FRAGMENTS6));
    key.putInt(0, 3);
    value.putLong(0, 0xff00L);
    assertEquals("endpoint 3", keyText(MapFormats.GENERATIONS));
    assertEquals("owner 0, change 65280", valueText(MapFormats.GENERATIONS));
    assertTrue(MapFormats.GENERATIONS.present(value, 0));
    key.putInt(0, 65_535);
    assertEquals("endpoint 65535", keyText(MapFormats.GENERATIONS));
    key.putInt(0, 65_536);
    assertEquals("outside shard 0", keyText(MapFormats.GENERATIONS));
    key.putInt(0, 65_536 + 513);
    value.putLong(0, 0xffff_ffff_0000_0000L);
    assertEquals("outside shard 513", keyText(MapFormats.GENERATIONS));
    assertEquals("owner 4294967295, change 0", valueText(MapFormats.GENERATIONS));
    assertFalse(MapFormats.GENERATIONS.present(value, 0));
    value.putLong(0, 0xff00L);
    assertEquals("0xff00", valueText(MapFormats.CELLS));
    value.putLong(0, 0);
    assertFalse(MapFormats.CELLS.present(value, 0));
  }

  @Test
  void shouldFormatNumbersOfEachWidth() {
    key.putInt(0, -7);
    value.putLong(0, 5L << 32 | 0xffff_fffeL);
    final MapFormat ints = SlotFormat.ofInts("policy ", "map id ");
    assertEquals("policy 4294967289", keyText(ints));
    assertEquals("map id 4294967294", valueText(ints));
    final MapFormat longs = SlotFormat.ofLongs("slot ", "lost ");
    assertEquals("slot 4294967289", keyText(longs));
    assertEquals("lost 25769803774", valueText(longs));
    assertEquals("0x5fffffffe", valueText(SlotFormat.ofWords("word ")));
    value.putLong(0, 5L << 32);
    assertFalse(ints.present(value, 0));
    assertTrue(longs.present(value, 0));
  }

  @Test
  void shouldFormatUnknownBytesInHexadecimal() {
    key.putLong(0, 0xf1a2_b3c4_d5e6_0708L);
    value.putLong(0, 0x1122_3344_5566_7789L);
    final MapFormat format = MapFormats.hexadecimal(2, 3);
    final StringBuilder out = new StringBuilder();
    format.appendKey(out, key, 1, value, 0);
    format.appendValue(out.append(' '), key, 1, value, 4);
    assertEquals("07e6 443322", out.toString());
    assertTrue(format.present(value, 64), "every entry is there, whatever its bytes");
    assertEquals(" ", keyText(MapFormats.hexadecimal(0, 0)) + " ");
  }

  @ParameterizedTest
  @CsvSource({
    "::, ::",
    "::1, ::1",
    "1::, 1::",
    "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
    "2001:0:0:1:0:0:0:1, 2001:0:0:1::1",
    "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
    "1:2:3:4:5:6:7:8, 1:2:3:4:5:6:7:8",
    "0:1:0:1:0:1:0:1, 0:1:0:1:0:1:0:1",
    "1:0:0:0:0:0:0:0, 1::",
    "fe80:0:0:0:0:0:abcd:1, fe80::abcd:1",
    "0:0:1:1:0:1:0:0, ::1:1:0:1:0:0",
  })
  void shouldWriteIpv6AddressesInTheFormOfRfc5952(String address, String text) throws Exception {
    final ByteBuffer bytes = ByteBuffer.wrap(InetAddress.getByName(address).getAddress());
    final StringBuilder out = new StringBuilder();
    FieldText.ipv6(out, bytes.getLong(0), bytes.getLong(8));
    assertEquals(text, out.toString());
  }

  @Test
  void shouldWriteIpv6AddressesThatReadBackTheSame() throws Exception {
    final Random random = new Random(3);
    for (int i = 0; i < 10_000; i++) {
      long high = random.nextLong();
      long low = random.nextLong();
      for (int group = 0; group < 4; group++) {
        high &= random.nextBoolean() ? -1 : ~(0xffffL << group * 16);
        low &= random.nextBoolean() ? -1 : ~(0xffffL << group * 16);
      }
      final StringBuilder out = new StringBuilder();
      FieldText.ipv6(out, high, low);
      final InetAddress read = InetAddress.getByName(out.toString());
      if (read instanceof Inet6Address) { // ::ffff:0:0/96 reads as IPv4
        final ByteBuffer bytes = ByteBuffer.wrap(read.getAddress());
        assertEquals(high, bytes.getLong(0), out.toString());
        assertEquals(low, bytes.getLong(8), out.toString());
      }
    }
  }
}
