package agent.datapath.manager.service;

import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceEntries.Backend;
import agent.datapath.manager.spec.ServiceProxy.KeptFrontend;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import agent.types.IpAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The entries of services in the maps, by key.
 *
 * @param frontends of {@code services}
 * @param slots of {@code service_slots}
 * @param backends of {@code service_backends}
 */
record ServiceRows(
    Map<ByteBuffer, byte[]> frontends,
    Map<ByteBuffer, byte[]> slots,
    Map<ByteBuffer, byte[]> backends) {
  private static final long IPV4_MAPPED = 0xffffL << Integer.SIZE; // RFC 4291, 2.5.5.2
  private static final long LOW_HALF = 0xffff_ffffL;

  ServiceRows() {
    this(new LinkedHashMap<>(), new LinkedHashMap<>(), new LinkedHashMap<>());
  }

  /** Returns the entries of one service; the same service has the same entries. */
  static ServiceRows of(ServiceEntries service) {
    final ServiceRows rows = new ServiceRows();
    final List<Backend> drawn =
        service.backends().stream()
            .filter(Backend::takesNew)
            .sorted(Comparator.comparing(Backend::address).thenComparing(Backend::port))
            .toList();
    rows.addFrontends(service, drawn.size());
    rows.addSlots(service.id(), drawn);
    service.backends().forEach(backend -> rows.addBackend(service.id(), backend));
    return rows;
  }

  private void addFrontends(ServiceEntries service, int drawn) {
    final byte[] value = new byte[ServiceEntryFlyweight.LENGTH];
    new ServiceEntryFlyweight()
        .wrap(new UnsafeBuffer(value), 0)
        .serviceId(service.id())
        .slots(drawn)
        .affinityS(service.affinitySec());
    for (final int protocol : service.protocols()) {
      final byte[] key = new byte[ServiceKeyFlyweight.LENGTH];
      new ServiceKeyFlyweight()
          .wrap(new UnsafeBuffer(key), 0)
          .address(high(service.address()), low(service.address()))
          .port(service.port())
          .protocol(protocol);
      frontends.put(ByteBuffer.wrap(key), value);
    }
  }

  private void addSlots(int id, List<Backend> drawn) {
    final AliasTable table = new AliasTable(drawn.stream().mapToInt(Backend::weight).toArray());
    for (int column = 0; column < table.columns(); column++) {
      final Backend own = drawn.get(column);
      final Backend other = drawn.get(table.other(column));
      final byte[] key = new byte[ServiceSlotKeyFlyweight.LENGTH];
      new ServiceSlotKeyFlyweight().wrap(new UnsafeBuffer(key), 0).serviceId(id).slot(column);
      final byte[] value = new byte[ServiceSlotFlyweight.LENGTH];
      new ServiceSlotFlyweight()
          .wrap(new UnsafeBuffer(value), 0)
          .address(high(own.address()), low(own.address()))
          .port(own.port())
          .otherAddress(high(other.address()), low(other.address()))
          .otherPort(other.port())
          .threshold(table.threshold(column));
      slots.put(ByteBuffer.wrap(key), value);
    }
  }

  private void addBackend(int id, Backend backend) {
    final byte[] key = new byte[ServiceBackendKeyFlyweight.LENGTH];
    new ServiceBackendKeyFlyweight()
        .wrap(new UnsafeBuffer(key), 0)
        .serviceId(id)
        .address(high(backend.address()), low(backend.address()))
        .port(backend.port());
    final byte[] value = new byte[Integer.BYTES];
    new UnsafeBuffer(value).putInt(0, backend.state().number());
    backends.put(ByteBuffer.wrap(key), value);
  }

  private static long high(IpAddress address) {
    return address.isIpv4() ? 0 : address.high();
  }

  private static long low(IpAddress address) {
    return address.isIpv4() ? IPV4_MAPPED | address.low() & LOW_HALF : address.low();
  }

  /** Returns the frontends of entries that the kernel holds. */
  List<KeptFrontend> keptFrontends() {
    final List<KeptFrontend> found = new ArrayList<>();
    final ServiceKeyFlyweight key = new ServiceKeyFlyweight();
    final ServiceEntryFlyweight value = new ServiceEntryFlyweight();
    frontends.forEach(
        (keyBytes, valueBytes) -> {
          key.wrap(new UnsafeBuffer(keyBytes.array()), 0);
          value.wrap(new UnsafeBuffer(valueBytes), 0);
          found.add(
              new KeptFrontend(
                  value.serviceId(),
                  address(key.addressHigh(), key.addressLow()),
                  key.port(),
                  key.protocol()));
        });
    return found;
  }

  private static IpAddress address(long high, long low) {
    return high == 0 && low >>> Integer.SIZE == IPV4_MAPPED >>> Integer.SIZE
        ? IpAddress.ofIpv4((int) low)
        : IpAddress.ofIpv6(high, low);
  }

  /** Accepts the entries of {@code services} that belong to a service. */
  static BiPredicate<MutableDirectBuffer, MutableDirectBuffer> idOfFrontend(int id) {
    return (key, value) -> value.getInt(ServiceEntryFlyweight.SERVICE_ID_OFFSET) == id;
  }

  /** Accepts the entries of the other maps that belong to a service, whose keys begin with it. */
  static BiPredicate<MutableDirectBuffer, MutableDirectBuffer> idOfKey(int id) {
    return (key, value) -> key.getInt(ServiceSlotKeyFlyweight.SERVICE_ID_OFFSET) == id;
  }
}
