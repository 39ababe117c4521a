package agent.datapath.manager.service;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.ServiceProxy.KeptFrontend;
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
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Encodes the entries of services one at a time, into memory that is used again. */
final class ServiceRows {
  /** The maps of a service, each after those that its entries refer to. */
  enum Part {
    /** {@code service_backends}. */
    BACKENDS,
    /** {@code service_slots}. */
    SLOTS,
    /** {@code service_ends}. */
    ENDS,
    /** {@code service_cells}. */
    CELLS,
    /** {@code service_tables}: one entry, or none where backends are drawn from the slots. */
    HEADERS,
    /** {@code services}. */
    FRONTENDS;

    static final Part[] ALL = values();

    /** Returns the number of the first entry of a service in this map among those of all maps. */
    int first(PlacedService of) {
      int first = 0;
      for (int part = 0; part < ordinal(); part++) {
        first += ALL[part].count(of);
      }
      return first;
    }

    /** Returns the number of entries of a service in this map. */
    int count(PlacedService of) {
      return switch (this) {
        case BACKENDS -> of.service().backends().size();
        case SLOTS -> of.drawn().size();
        case ENDS -> of.usesTable() ? of.drawn().size() : 0;
        case CELLS -> of.usesTable() ? of.parts() : 0;
        case HEADERS -> of.usesTable() ? 1 : 0;
        case FRONTENDS -> of.service().protocols().size() * of.scopes().size();
      };
    }
  }

  private final UnsafeBuffer key = new UnsafeBuffer(new byte[ServiceBackendKeyFlyweight.LENGTH]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[ServiceCellsFlyweight.LENGTH]);
  private final ServiceKeyFlyweight frontendKey = new ServiceKeyFlyweight();
  private final ServiceEntryFlyweight frontend = new ServiceEntryFlyweight();
  private final ServiceSlotKeyFlyweight slotKey = new ServiceSlotKeyFlyweight().wrap(key, 0);
  private final ServiceSlotFlyweight slot = new ServiceSlotFlyweight().wrap(value, 0);
  private final ServiceTableFlyweight header = new ServiceTableFlyweight();
  private final ServiceTableKeyFlyweight partKey = new ServiceTableKeyFlyweight().wrap(key, 0);
  private final ServiceCellsFlyweight cells = new ServiceCellsFlyweight().wrap(value, 0);
  private final ServiceEndFlyweight end = new ServiceEndFlyweight().wrap(value, 0);
  private final ServiceBackendKeyFlyweight backendKey =
      new ServiceBackendKeyFlyweight().wrap(key, 0);

  /** Returns the number of entries of a service in all maps. */
  static int count(PlacedService of) {
    return Part.FRONTENDS.first(of) + Part.FRONTENDS.count(of);
  }

  /** Returns the key that was encoded last. */
  MutableDirectBuffer key() {
    return key;
  }

  /** Returns the value that was encoded last. */
  MutableDirectBuffer value() {
    return value;
  }

  /**
   * Encodes an entry of a service.
   *
   * @param index number of the entry among those of all maps, less than {@link #count}
   * @param isWhole whether the value is encoded, too
   * @return the map that it belongs to
   */
  Part encode(PlacedService of, int index, boolean isWhole) {
    int number = index;
    int part = 0;
    while (number >= Part.ALL[part].count(of)) {
      number -= Part.ALL[part].count(of);
      part++;
    }
    key.setMemory(0, key.capacity(), (byte) 0);
    encodeKey(Part.ALL[part], of, number);
    if (isWhole) {
      value.setMemory(0, value.capacity(), (byte) 0);
      encodeValue(Part.ALL[part], of, number);
    }
    return Part.ALL[part];
  }

  private void encodeKey(Part part, PlacedService of, int number) {
    final ServiceEntries service = of.service();
    switch (part) {
      case BACKENDS -> {
        final Backend backend = service.backends().get(number);
        backendKey
            .serviceId(of.id())
            .address(PlacedService.high(backend.address()), PlacedService.low(backend.address()))
            .port(backend.port());
      }
      case SLOTS -> slotKey.serviceId(of.id()).slot(number);
      case ENDS, CELLS -> partKey.serviceId(of.id()).version(of.version()).index(number);
      case HEADERS -> key.putInt(0, of.id());
      case FRONTENDS ->
          frontendKey
              .wrap(key, 0)
              .address(PlacedService.high(service.address()), PlacedService.low(service.address()))
              .port(service.port())
              .protocol(service.protocols().get(number / of.scopes().size()))
              .scope(of.scopes().get(number % of.scopes().size()).number());
    }
  }

  private void encodeValue(Part part, PlacedService of, int number) {
    switch (part) {
      case BACKENDS -> value.putInt(0, of.service().backends().get(number).state().number());
      case SLOTS -> encodeSlot(of, number);
      case ENDS -> {
        final Backend backend = of.drawn().get(number);
        end.address(PlacedService.high(backend.address()), PlacedService.low(backend.address()))
            .port(backend.port());
      }
      case CELLS -> {
        final int first = number * MapSize.SERVICE_CELLS;
        final int count = Math.min(MapSize.SERVICE_CELLS, of.cells() - first);
        for (int i = 0; i < count; i++) {
          cells.backends(i, of.table().choice(first + i));
        }
      }
      case HEADERS -> header.wrap(value, 0).cells(of.cells()).version(of.version());
      case FRONTENDS ->
          frontend
              .wrap(value, 0)
              .serviceId(of.id())
              .slots(of.drawn().size())
              .affinityS(of.service().affinitySec())
              .forwarding(of.service().forwarding().number());
    }
  }

  private void encodeSlot(PlacedService of, int column) {
    final Backend own = of.drawn().get(column);
    final Backend other = of.drawn().get(of.alias().other(column));
    slot.address(PlacedService.high(own.address()), PlacedService.low(own.address()))
        .port(own.port())
        .otherAddress(PlacedService.high(other.address()), PlacedService.low(other.address()))
        .otherPort(other.port())
        .threshold(of.alias().threshold(column));
  }

  /** Returns the id of the service that an entry of the kernel belongs to. */
  static int serviceId(Part part, DirectBuffer key, DirectBuffer value) {
    return part == Part.FRONTENDS
        ? value.getInt(ServiceEntryFlyweight.SERVICE_ID_OFFSET)
        : key.getInt(ServiceSlotKeyFlyweight.SERVICE_ID_OFFSET); // all keys begin with it
  }

  /** Returns the number of cells that an entry of {@link Part#HEADERS} says. */
  int cells(MutableDirectBuffer found) {
    return header.wrap(found, 0).cells();
  }

  /** Returns whether the entry of a frontend is for those outside. */
  static boolean isForOutside(DirectBuffer key) {
    return key.getByte(ServiceKeyFlyweight.SCOPE_OFFSET) == ServiceScope.OUTSIDE.number();
  }

  /** Encodes the key of a frontend and returns it. */
  MutableDirectBuffer frontendKey(KeptFrontend frontend, ServiceScope scope) {
    key.setMemory(0, key.capacity(), (byte) 0);
    frontendKey
        .wrap(key, 0)
        .address(PlacedService.high(frontend.address()), PlacedService.low(frontend.address()))
        .port(frontend.port())
        .protocol(frontend.protocol())
        .scope(scope.number());
    return key;
  }

  /** Returns the frontend of an entry that the kernel holds. */
  KeptFrontend keptFrontend(MutableDirectBuffer foundKey, MutableDirectBuffer found) {
    frontendKey.wrap(foundKey, 0);
    return new KeptFrontend(
        frontend.wrap(found, 0).serviceId(),
        PlacedService.address(frontendKey.addressHigh(), frontendKey.addressLow()),
        frontendKey.port(),
        frontendKey.protocol());
  }
}
