package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.MapFlag;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.BackendState;
import agent.maps.layout.MapSize;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import agent.maps.layout.ServiceCellsFlyweight;
import agent.maps.layout.ServiceEndFlyweight;
import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceGate;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceScope;
import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import agent.maps.layout.ServiceTableFlyweight;
import agent.maps.layout.ServiceTableKeyFlyweight;
import agent.types.IpAddress;
import java.util.List;
import java.util.Map;

/** Writes services of one family as the agent does; a slot for each backend. */
final class ScenarioServices {
  private static final long IPV4_MAPPED = 0xffffL << Integer.SIZE;
  private static final long LOW_HALF = 0xffff_ffffL;

  /** One that serves. */
  record Server(ScenarioHost host, int port) {}

  private final Family family;
  private final BpfMap services;
  private final BpfMap gate;
  private final BpfMap slots;
  private final BpfMap tables;
  private final BpfMap cells;
  private final BpfMap ends;
  private final BpfMap backends;
  private ServiceForwarding forwarding = ServiceForwarding.DEFAULT;

  ScenarioServices(Family family, Map<String, BpfMap> maps) {
    this.family = family;
    services = maps.get("services");
    gate = maps.get("service_gate");
    slots = maps.get("service_slots");
    tables = maps.get("service_tables");
    cells = maps.get("service_cells");
    ends = maps.get("service_ends");
    backends = maps.get("service_backends");
  }

  /** Sets how packets reach other hosts, for the services that are written from now on. */
  ScenarioServices forward(ServiceForwarding value) {
    forwarding = value;
    return this;
  }

  /** Writes a service for packets of this node to an address, which may be of all. */
  void putInside(int id, String frontend, int port, int protocol, Server... servers) {
    putSlots(id, servers);
    putEntry(
        frontend(IpAddress.parse(frontend), port, protocol, ServiceScope.INSIDE),
        id,
        0,
        servers.length);
  }

  /** Writes a service for packets from outside to an address of the family, which may be of all. */
  ScenarioServices putOutside(
      int id, String frontend, int port, int protocol, int affinitySec, Server... servers) {
    putSlots(id, servers);
    putEntry(
        frontend(IpAddress.parse(frontend), port, protocol, ServiceScope.OUTSIDE),
        id,
        affinitySec,
        servers.length);
    final EntryBuffer open = new EntryBuffer(gate);
    open.value().putInt(0, ServiceGate.OPEN.number());
    assertEquals(0, gate.update(open, MapFlag.ANY));
    return this;
  }

  /** Writes a service of which each server takes new flows. */
  ScenarioServices put(
      int id, ScenarioHost frontend, int port, int protocol, int affinitySec, Server... servers) {
    putSlots(id, servers);
    putEntry(frontend(frontend, port, protocol), id, affinitySec, servers.length);
    return this;
  }

  private void putSlots(int id, Server... servers) {
    for (int slot = 0; slot < servers.length; slot++) {
      final EntryBuffer entry = new EntryBuffer(slots);
      new ServiceSlotKeyFlyweight().wrap(entry.key(), 0).clear().serviceId(id).slot(slot);
      final Server server = servers[slot];
      new ServiceSlotFlyweight()
          .wrap(entry.value(), 0)
          .clear()
          .address(high(server.host), low(server.host))
          .port(server.port)
          .threshold(-1);
      assertEquals(0, slots.update(entry, MapFlag.ANY));
      state(id, server, BackendState.ACTIVE);
    }
    final EntryBuffer further = new EntryBuffer(slots);
    new ServiceSlotKeyFlyweight().wrap(further.key(), 0).clear().serviceId(id).slot(servers.length);
    slots.delete(further); // of one server more, where there was one
  }

  private void putEntry(EntryBuffer entry, int id, int affinitySec, int slots) {
    new ServiceEntryFlyweight()
        .wrap(entry.value(), 0)
        .clear()
        .serviceId(id)
        .slots(slots)
        .affinityS(affinitySec)
        .forwarding(forwarding.number());
    assertEquals(0, services.update(entry, MapFlag.ANY));
  }

  /** Sets the table of a service, whose cells hold indexes of servers. */
  void putTable(int id, int version, int[] choices, Server... servers) {
    for (int index = 0; index < servers.length; index++) {
      final EntryBuffer entry = part(ends, id, version, index);
      new ServiceEndFlyweight()
          .wrap(entry.value(), 0)
          .address(high(servers[index].host), low(servers[index].host))
          .port(servers[index].port);
      assertEquals(0, ends.update(entry, MapFlag.ANY));
      state(id, servers[index], BackendState.ACTIVE);
    }
    for (int first = 0; first < choices.length; first += MapSize.SERVICE_CELLS) {
      final EntryBuffer entry = part(cells, id, version, first / MapSize.SERVICE_CELLS);
      final ServiceCellsFlyweight value = new ServiceCellsFlyweight().wrap(entry.value(), 0);
      for (int i = 0; i < MapSize.SERVICE_CELLS && first + i < choices.length; i++) {
        value.backends(i, choices[first + i]);
      }
      assertEquals(0, cells.update(entry, MapFlag.ANY));
    }
    final EntryBuffer entry = new EntryBuffer(tables);
    entry.key().putInt(0, id);
    new ServiceTableFlyweight().wrap(entry.value(), 0).cells(choices.length).version(version);
    assertEquals(0, tables.update(entry, MapFlag.ANY));
  }

  /** Removes a part of the cells of a table, as where the table is being replaced. */
  void removeCells(int id, int version, int part) {
    assertEquals(0, cells.delete(part(cells, id, version, part)));
  }

  private static EntryBuffer part(BpfMap map, int id, int version, int index) {
    final EntryBuffer entry = new EntryBuffer(map);
    new ServiceTableKeyFlyweight().wrap(entry.key(), 0).serviceId(id).version(version).index(index);
    return entry;
  }

  /** Sets the state of a backend; null takes it away. */
  void state(int id, Server server, BackendState state) {
    final EntryBuffer entry = new EntryBuffer(backends);
    new ServiceBackendKeyFlyweight()
        .wrap(entry.key(), 0)
        .clear()
        .serviceId(id)
        .address(high(server.host), low(server.host))
        .port(server.port);
    if (state == null) {
      assertEquals(0, backends.delete(entry));
      return;
    }
    entry.value().putInt(0, state.number());
    assertEquals(0, backends.update(entry, MapFlag.ANY));
  }

  /** Removes a service. */
  void remove(int id, ScenarioHost frontend, int port, int protocol, List<Server> servers) {
    assertEquals(0, services.delete(frontend(frontend, port, protocol)));
    servers.forEach(server -> state(id, server, null));
  }

  private EntryBuffer frontend(ScenarioHost frontend, int port, int protocol) {
    final IpAddress address = IpAddress.parse(family.address(frontend));
    return frontend(address, port, protocol, ServiceScope.INSIDE);
  }

  private EntryBuffer frontend(IpAddress address, int port, int protocol, ServiceScope scope) {
    final EntryBuffer entry = new EntryBuffer(services);
    new ServiceKeyFlyweight()
        .wrap(entry.key(), 0)
        .clear()
        .address(
            address.isIpv4() ? 0 : address.high(),
            address.isIpv4() ? IPV4_MAPPED | address.low() & LOW_HALF : address.low())
        .port(port)
        .protocol(protocol)
        .scope(scope.number());
    return entry;
  }

  private long high(ScenarioHost host) {
    return family == Family.IPV4 ? 0 : host.ipv6High();
  }

  private long low(ScenarioHost host) {
    return family == Family.IPV4 ? IPV4_MAPPED | host.ipv4Number() & LOW_HALF : host.ipv6Low();
  }
}
