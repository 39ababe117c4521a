package agent.datapath.manager.service;

import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceEntries.Backend;
import agent.datapath.manager.spec.ServiceProxy.KeptFrontend;
import agent.maps.layout.MapSize;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import agent.maps.layout.ServiceCellsFlyweight;
import agent.maps.layout.ServiceEndFlyweight;
import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceScope;
import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import agent.maps.layout.ServiceTableFlyweight;
import agent.maps.layout.ServiceTableKeyFlyweight;
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
 * @param tables of {@code service_tables}: one, or none where backends are drawn from the slots
 * @param cells of {@code service_cells}
 * @param ends of {@code service_ends}
 * @param backends of {@code service_backends}
 */
record ServiceRows(
    Map<ByteBuffer, byte[]> frontends,
    Map<ByteBuffer, byte[]> slots,
    Map<ByteBuffer, byte[]> tables,
    Map<ByteBuffer, byte[]> cells,
    Map<ByteBuffer, byte[]> ends,
    Map<ByteBuffer, byte[]> backends) {
  private static final long IPV4_MAPPED = 0xffffL << Integer.SIZE; // RFC 4291, 2.5.5.2
  private static final long LOW_HALF = 0xffff_ffffL;
  private static final Comparator<Backend> BY_ADDRESS =
      Comparator.comparing(Backend::address).thenComparingInt(Backend::port);

  ServiceRows() {
    this(
        new LinkedHashMap<>(),
        new LinkedHashMap<>(),
        new LinkedHashMap<>(),
        new LinkedHashMap<>(),
        new LinkedHashMap<>(),
        new LinkedHashMap<>());
  }

  /**
   * Returns the entries of one service; the same service has the same entries.
   *
   * @param cells number of cells of its table, of {@link MaglevTable#cells}; one backend, or more
   *     than there are cells, need none
   */
  static ServiceRows of(ServiceEntries service, int cells) {
    return of(service, drawn(service), cells);
  }

  /** As {@link #of(ServiceEntries, int)}, with what {@link #drawn} has returned. */
  static ServiceRows of(ServiceEntries service, List<Backend> drawn, int cells) {
    final ServiceRows rows = new ServiceRows();
    rows.addFrontends(service, drawn.size());
    rows.addSlots(service.id(), drawn);
    if (drawn.size() > 1 && drawn.size() <= cells) {
      rows.addTable(service.id(), drawn, cells);
    }
    service.backends().forEach(backend -> rows.addBackend(service.id(), backend));
    return rows;
  }

  /** Returns the backends for new connections in the order of their addresses. */
  static List<Backend> drawn(ServiceEntries service) {
    final List<Backend> drawn = new ArrayList<>(service.backends());
    drawn.removeIf(backend -> !backend.takesNew());
    drawn.sort(BY_ADDRESS);
    return drawn;
  }

  /** Returns the weights of the backends for new connections. */
  static int[] weights(List<Backend> drawn) {
    final int[] weights = new int[drawn.size()];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = drawn.get(i).weight();
    }
    return weights;
  }

  /** Returns the entries without those of a table. */
  ServiceRows withoutTable() {
    return new ServiceRows(frontends, slots, Map.of(), Map.of(), Map.of(), backends);
  }

  private void addFrontends(ServiceEntries service, int drawn) {
    final byte[] value = new byte[ServiceEntryFlyweight.LENGTH];
    new ServiceEntryFlyweight()
        .wrap(new UnsafeBuffer(value), 0)
        .serviceId(service.id())
        .slots(drawn)
        .affinityS(service.affinitySec())
        .forwarding(service.forwarding().number());
    for (final int protocol : service.protocols()) {
      for (final ServiceScope scope : service.scopes()) {
        final byte[] key = new byte[ServiceKeyFlyweight.LENGTH];
        new ServiceKeyFlyweight()
            .wrap(new UnsafeBuffer(key), 0)
            .address(high(service.address()), low(service.address()))
            .port(service.port())
            .protocol(protocol)
            .scope(scope.number());
        frontends.put(ByteBuffer.wrap(key), value);
      }
    }
  }

  private void addSlots(int id, List<Backend> drawn) {
    final AliasTable table = new AliasTable(weights(drawn));
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

  private void addTable(int id, List<Backend> drawn, int cells) {
    final long[] identities = drawn.stream().mapToLong(ServiceRows::identity).toArray();
    final int[] weights = weights(drawn);
    final MaglevTable table = new MaglevTable(identities, weights, cells);
    final int version = version(identities, weights, cells);
    final byte[] key = new byte[Integer.BYTES];
    new UnsafeBuffer(key).putInt(0, id);
    final byte[] value = new byte[ServiceTableFlyweight.LENGTH];
    new ServiceTableFlyweight().wrap(new UnsafeBuffer(value), 0).cells(cells).version(version);
    tables.put(ByteBuffer.wrap(key), value);
    for (int index = 0; index < drawn.size(); index++) {
      ends.put(partKey(id, version, index), end(drawn.get(index)));
    }
    for (int first = 0; first < table.cells(); first += MapSize.SERVICE_CELLS) {
      final byte[] part = new byte[ServiceCellsFlyweight.LENGTH];
      final ServiceCellsFlyweight choices =
          new ServiceCellsFlyweight().wrap(new UnsafeBuffer(part), 0);
      for (int i = 0; i < MapSize.SERVICE_CELLS && first + i < table.cells(); i++) {
        choices.backends(i, table.choice(first + i));
      }
      this.cells.put(partKey(id, version, first / MapSize.SERVICE_CELLS), part);
    }
  }

  private static long identity(Backend backend) {
    final long address = MaglevTable.mix(high(backend.address())) + low(backend.address());
    return MaglevTable.mix(MaglevTable.mix(address) + backend.port());
  }

  /** Returns a number that tells the table from the former one, but for one case in 65,536. */
  private static int version(long[] identities, int[] weights, int cells) {
    long hash = cells;
    for (int i = 0; i < identities.length; i++) {
      hash = MaglevTable.mix(hash + identities[i]) + weights[i];
    }
    return (int) (MaglevTable.mix(hash) >>> Long.SIZE - Short.SIZE);
  }

  private static ByteBuffer partKey(int id, int version, int index) {
    final byte[] key = new byte[ServiceTableKeyFlyweight.LENGTH];
    new ServiceTableKeyFlyweight()
        .wrap(new UnsafeBuffer(key), 0)
        .serviceId(id)
        .version(version)
        .index(index);
    return ByteBuffer.wrap(key);
  }

  private static byte[] end(Backend backend) {
    final byte[] value = new byte[ServiceEndFlyweight.LENGTH];
    new ServiceEndFlyweight()
        .wrap(new UnsafeBuffer(value), 0)
        .address(high(backend.address()), low(backend.address()))
        .port(backend.port());
    return value;
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

  /** Returns whether the entry of a frontend is for those outside. */
  static boolean isForOutside(ByteBuffer key) {
    return key.get(ServiceKeyFlyweight.SCOPE_OFFSET) == ServiceScope.OUTSIDE.number();
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
