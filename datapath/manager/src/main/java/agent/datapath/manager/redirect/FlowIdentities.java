package agent.datapath.manager.redirect;

import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.types.IpAddress;
import java.util.function.Function;

/**
 * The identities that the ipcache gives to the ends of a flow now. A conntrack entry has those of
 * the last packet of the client that was judged, and a client that only receives is judged by none.
 * Any thread may ask; each has memory of its own.
 */
final class FlowIdentities {
  private final int world4;
  private final int world6;
  private final ThreadLocal<Table> ipcache4;
  private final ThreadLocal<Table> ipcache6;

  private record Table(BpfMap map, EntryBuffer entry) {
    static Table of(BpfMap map) {
      return new Table(map, new EntryBuffer(map));
    }
  }

  FlowIdentities(Function<MapProperties, BpfMap> maps, int world4, int world6) {
    this.world4 = world4;
    this.world6 = world6;
    ipcache4 = ThreadLocal.withInitial(() -> Table.of(maps.apply(MapCatalog.IPCACHE4)));
    ipcache6 = ThreadLocal.withInitial(() -> Table.of(maps.apply(MapCatalog.IPCACHE6)));
  }

  /** Returns a flow with the present identities of its ends. */
  RedirectedFlow refresh(RedirectedFlow flow) {
    final int client = of(flow.client(), flow.clientEndpoint(), flow.clientIdentity());
    final int server = of(flow.server(), flow.serverEndpoint(), flow.serverIdentity());
    if (client == flow.clientIdentity() && server == flow.serverIdentity()) {
      return flow;
    }
    return new RedirectedFlow(
        flow.protocol(),
        flow.client(),
        flow.clientPort(),
        client,
        flow.clientEndpoint(),
        flow.server(),
        flow.serverPort(),
        server,
        flow.serverEndpoint());
  }

  /**
   * Returns the identity of an address, as flow_find_peer() of the programs does. For an address of
   * this node, and one that another endpoint has now, that depends on the packet: it is kept.
   */
  private int of(IpAddress address, int endpoint, int known) {
    final Table table = (address.isIpv4() ? ipcache4 : ipcache6).get();
    if (address.isIpv4()) {
      final Ipcache4KeyFlyweight key = new Ipcache4KeyFlyweight().wrap(table.entry.key(), 0);
      key.prefixLength(Integer.SIZE).address((int) address.low());
    } else {
      final Ipcache6KeyFlyweight key = new Ipcache6KeyFlyweight().wrap(table.entry.key(), 0);
      key.prefixLength(2 * Long.SIZE).address(address.high(), address.low());
    }
    if (table.map.lookup(table.entry) != 0) {
      return endpoint != 0 ? known : address.isIpv4() ? world4 : world6;
    }
    final IpcacheEntryFlyweight entry = new IpcacheEntryFlyweight().wrap(table.entry.value(), 0);
    final boolean isOfNode = (entry.flags() & IpcacheFlag.HOST.number()) != 0;
    return isOfNode || entry.endpointId() != endpoint ? known : entry.identity();
  }
}
