package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import agent.datapath.manager.service.ServiceRows.Part;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.ServiceProxy.KeptFrontend;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import agent.types.IpAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** What the maps hold of a service. */
class ServiceMapEntriesTest {
  private static final int ID = 77;
  private static final IpAddress IPV4 = IpAddress.parse("200.96.0.1");
  private static final IpAddress IPV6 = IpAddress.parse("fd00::96:1");
  private static final long MAPPED = 0xffff_0000_0000L;

  private static Backend backend(String address, int port, BackendState state, int weight) {
    return new Backend(IpAddress.parse(address), port, state, weight);
  }

  private static PlacedRows rows(IpAddress frontend, Backend... backends) {
    return new PlacedRows(
        PlacedService.withCells(
            new ServiceEntries(ID, frontend, 53, List.of(6, 17), 600, List.of(backends)), 0));
  }

  private static List<KeptFrontend> keptFrontends(PlacedRows rows) {
    final ServiceRows reader = new ServiceRows();
    return rows.frontends().entrySet().stream()
        .map(row -> reader.keptFrontend(buffer(row.getKey()), new UnsafeBuffer(row.getValue())))
        .toList();
  }

  private static UnsafeBuffer buffer(ByteBuffer key) {
    return new UnsafeBuffer(key.array());
  }

  private static Stream<ServiceKeyFlyweight> keys(PlacedRows rows) {
    return rows.frontends().keySet().stream()
        .map(key -> new ServiceKeyFlyweight().wrap(buffer(key), 0));
  }

  @Test
  void shouldHaveAFrontendForEachProtocol() {
    final PlacedRows rows =
        rows(
            IPV4,
            backend("10.1.0.1", 80, BackendState.ACTIVE, 1),
            backend("10.1.0.2", 80, BackendState.ACTIVE, 2),
            backend("10.1.0.3", 80, BackendState.TERMINATING, 1));
    assertEquals(List.of(6, 17), keys(rows).map(ServiceKeyFlyweight::protocol).toList());
    keys(rows)
        .forEach(
            key -> {
              assertEquals(0, key.addressHigh());
              assertEquals(MAPPED | 0xc860_0001L, key.addressLow());
              assertEquals(53, key.port());
            });
    for (final byte[] bytes : rows.frontends().values()) {
      final ServiceEntryFlyweight value =
          new ServiceEntryFlyweight().wrap(new UnsafeBuffer(bytes), 0);
      assertEquals(ID, value.serviceId());
      assertEquals(2, value.slots());
      assertEquals(600, value.affinityS());
    }
    keys(rows(IPV6))
        .forEach(
            key -> {
              assertEquals(IPV6.high(), key.addressHigh());
              assertEquals(IPV6.low(), key.addressLow());
            });
  }

  /** The order of the backends in a request makes no difference. */
  @Test
  void shouldHaveASlotForEachBackendThatTakesConnections() {
    final Backend light = backend("10.1.0.2", 80, BackendState.ACTIVE, 1);
    final Backend heavy = backend("10.1.0.2", 443, BackendState.ACTIVE, 3);
    final Backend none = backend("10.1.0.1", 80, BackendState.ACTIVE, 0);
    final Backend leaving = backend("10.1.0.1", 81, BackendState.TERMINATING, 9);
    final PlacedRows rows = rows(IPV4, heavy, none, leaving, light);
    assertEquals(2, rows.slots().size());
    final int[] index = new int[1];
    rows.slots()
        .forEach(
            (keyBytes, valueBytes) -> {
              final ServiceSlotKeyFlyweight key =
                  new ServiceSlotKeyFlyweight().wrap(buffer(keyBytes), 0);
              final ServiceSlotFlyweight slot =
                  new ServiceSlotFlyweight().wrap(new UnsafeBuffer(valueBytes), 0);
              assertEquals(ID, key.serviceId());
              assertEquals(index[0], key.slot());
              assertEquals(index[0] == 0 ? 80 : 443, slot.port());
              assertEquals(443, slot.otherPort(), "the heavy one has the rest of the first slot");
              assertEquals(index[0] == 0 ? 0x7fff_ffff : -1, slot.threshold());
              for (final long half : new long[] {slot.addressHigh(), slot.otherAddressHigh()}) {
                assertEquals(0, half);
              }
              assertEquals(MAPPED | 0x0a01_0002L, slot.addressLow());
              assertEquals(MAPPED | 0x0a01_0002L, slot.otherAddressLow());
              index[0]++;
            });
    assertSame(rows, rows(IPV4, light, leaving, none, heavy));
  }

  @Test
  void shouldOrderSlotsByAddress() {
    final PlacedRows rows =
        rows(
            IPV6,
            backend("fd00::2", 1, BackendState.ACTIVE, 1),
            backend("fd00::1", 2, BackendState.ACTIVE, 1));
    assertEquals(
        List.of("fd00::1", "fd00::2"),
        rows.slots().values().stream()
            .map(bytes -> new ServiceSlotFlyweight().wrap(new UnsafeBuffer(bytes), 0))
            .map(slot -> IpAddress.ofIpv6(slot.addressHigh(), slot.addressLow()).toString())
            .toList());
  }

  private static void assertSame(PlacedRows expected, PlacedRows found) {
    for (final List<Map<ByteBuffer, byte[]>> pair :
        List.of(
            List.of(expected.frontends(), found.frontends()),
            List.of(expected.slots(), found.slots()),
            List.of(expected.backends(), found.backends()))) {
      assertEquals(pair.getFirst().keySet(), pair.getLast().keySet());
      pair.getFirst()
          .forEach(
              (key, value) ->
                  assertEquals(ByteBuffer.wrap(value), ByteBuffer.wrap(pair.getLast().get(key))));
    }
  }

  @Test
  void shouldHaveTheStateOfEachBackend() {
    final PlacedRows rows =
        rows(
            IPV4,
            backend("10.1.0.1", 80, BackendState.TERMINATING, 1),
            backend("fd00::1", 81, BackendState.QUARANTINED, 1));
    final List<ServiceBackendKeyFlyweight> keys =
        rows.backends().keySet().stream()
            .map(key -> new ServiceBackendKeyFlyweight().wrap(buffer(key), 0))
            .toList();
    assertEquals(List.of(ID, ID), keys.stream().map(key -> key.serviceId()).toList());
    assertEquals(List.of(80, 81), keys.stream().map(key -> key.port()).toList());
    assertEquals(
        List.of(0L, 0xfd00_0000_0000_0000L), keys.stream().map(key -> key.addressHigh()).toList());
    assertEquals(
        List.of(MAPPED | 0x0a01_0001L, 1L), keys.stream().map(key -> key.addressLow()).toList());
    assertEquals(
        List.of(BackendState.TERMINATING.number(), BackendState.QUARANTINED.number()),
        rows.backends().values().stream().map(value -> new UnsafeBuffer(value).getInt(0)).toList());
  }

  @Test
  void shouldReadFrontendsThatItWrote() {
    for (final IpAddress address :
        List.of(
            IPV4,
            IPV6,
            IpAddress.parse("::1"),
            IpAddress.parse("::1:ffff:1:1"),
            IpAddress.parse("1::ffff:10.0.0.1"))) {
      assertEquals(
          List.of(new KeptFrontend(ID, address, 53, 6), new KeptFrontend(ID, address, 53, 17)),
          keptFrontends(rows(address)));
    }
  }

  @Test
  void shouldTellItsEntriesFromThoseOfOtherServices() {
    final List<Backend> backends =
        List.of(
            backend("10.1.0.1", 80, BackendState.ACTIVE, 1),
            backend("10.1.0.2", 80, BackendState.ACTIVE, 1));
    final PlacedRows rows =
        new PlacedRows(
            PlacedService.withCells(
                new ServiceEntries(ID, IPV4, 53, List.of(6, 17), 600, backends), 251));
    for (final Part part : Part.ALL) {
      assertFalse(rows.of(part).isEmpty());
      rows.of(part)
          .forEach(
              (key, value) ->
                  assertEquals(
                      ID, ServiceRows.serviceId(part, buffer(key), new UnsafeBuffer(value))));
    }
  }
}
