package agent.datapath.manager.service;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.ServiceProxy;
import agent.maps.layout.MapSize;
import agent.maps.layout.ServiceScope;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A service with what its entries say beyond it: the order of its backends, how they are drawn, and
 * the table that gives a tuple its backend. The same service with as many cells has the same
 * entries.
 */
final class PlacedService implements ServiceProxy.Placed {
  private static final long IPV4_MAPPED = 0xffffL << Integer.SIZE; // RFC 4291, 2.5.5.2
  private static final long LOW_HALF = 0xffff_ffffL;
  private static final Comparator<Backend> BY_ADDRESS =
      Comparator.comparing(Backend::address).thenComparingInt(Backend::port);

  private final ServiceEntries service;
  private final List<ServiceScope> scopes;
  private final List<Backend> drawn;
  private final int cells;
  private final int version;
  private final AliasTable alias;
  private final MaglevTable table;

  private PlacedService(
      ServiceEntries service,
      List<Backend> drawn,
      int cells,
      int version,
      AliasTable alias,
      MaglevTable table) {
    this.service = service;
    this.drawn = drawn;
    this.cells = cells;
    this.version = version;
    this.alias = alias;
    this.table = table;
    scopes = List.copyOf(service.scopes());
  }

  /**
   * Places a service with a table of at least the size of the former one, which does not shrink.
   *
   * @param formerCells the number of cells of the former table; 0 for none
   * @param mostCells the largest number of cells; 0 for no table
   */
  static PlacedService of(ServiceEntries service, int formerCells, int mostCells) {
    final List<Backend> drawn = drawn(service);
    final int[] weights = weights(drawn);
    return of(service, drawn, weights, MaglevTable.cells(weights, formerCells, mostCells));
  }

  /** Places a service with a table of this size; 0 for none. */
  static PlacedService withCells(ServiceEntries service, int cells) {
    final List<Backend> drawn = drawn(service);
    return of(service, drawn, weights(drawn), cells);
  }

  private static PlacedService of(
      ServiceEntries service, List<Backend> drawn, int[] weights, int cells) {
    final AliasTable alias = new AliasTable(weights);
    if (drawn.size() < 2 || drawn.size() > cells) {
      return new PlacedService(service, drawn, cells, 0, alias, null);
    }
    final long[] identities = drawn.stream().mapToLong(PlacedService::identity).toArray();
    final MaglevTable table = new MaglevTable(identities, weights, cells);
    final int version = version(identities, weights, cells);
    return new PlacedService(service, drawn, cells, version, alias, table);
  }

  /** Returns the service with backends that are drawn at random. */
  PlacedService withoutTable() {
    return new PlacedService(service, drawn, 0, 0, alias, null);
  }

  /** Returns what tells the keys of the entries, without their values. */
  PlacedService withoutValues() {
    return new PlacedService(service, drawn, cells, version, null, null);
  }

  /** Returns the backends for new connections in the order of their addresses. */
  private static List<Backend> drawn(ServiceEntries service) {
    final List<Backend> drawn = new ArrayList<>(service.backends());
    drawn.removeIf(backend -> !backend.takesNew());
    drawn.sort(BY_ADDRESS);
    return drawn;
  }

  private static int[] weights(List<Backend> drawn) {
    final int[] weights = new int[drawn.size()];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = drawn.get(i).weight();
    }
    return weights;
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

  /** Returns the upper half of an address as the programs have it. */
  static long high(IpAddress address) {
    return address.isIpv4() ? 0 : address.high();
  }

  /** Returns the lower half of an address as the programs have it. */
  static long low(IpAddress address) {
    return address.isIpv4() ? IPV4_MAPPED | address.low() & LOW_HALF : address.low();
  }

  /** Returns the address that the programs have in two halves. */
  static IpAddress address(long high, long low) {
    return high == 0 && low >>> Integer.SIZE == IPV4_MAPPED >>> Integer.SIZE
        ? IpAddress.ofIpv4((int) low)
        : IpAddress.ofIpv6(high, low);
  }

  @Override
  public ServiceEntries service() {
    return service;
  }

  int id() {
    return service.id();
  }

  /** Returns whose packets it takes. */
  List<ServiceScope> scopes() {
    return scopes;
  }

  boolean isForOutside() {
    return scopes.contains(ServiceScope.OUTSIDE);
  }

  /** Returns the backends for new connections in the order of their addresses. */
  List<Backend> drawn() {
    return drawn;
  }

  boolean usesTable() {
    return drawn.size() > 1 && drawn.size() <= cells;
  }

  /** Returns the number of cells of the table, also where one backend needs none. */
  int cells() {
    return cells;
  }

  /** Returns the number of entries of the table's cells. */
  int parts() {
    return (cells + MapSize.SERVICE_CELLS - 1) / MapSize.SERVICE_CELLS;
  }

  int version() {
    return version;
  }

  /** Returns how a backend is drawn; null without values. */
  AliasTable alias() {
    return alias;
  }

  /** Returns the table; null where there is none, and without values. */
  MaglevTable table() {
    return table;
  }
}
