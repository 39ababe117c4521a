package agent.datapath.manager.redirect;

import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackEntries;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.types.IpAddress;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Looks up the conntrack entry of a client and a proxy, which knows the server. Any thread may ask;
 * each has memory of its own.
 */
final class ProxiedFlows {
  private static final int TCP = 6;
  private static final int PROXIED =
      ConntrackFlag.PROXIED.number() | ConntrackFlag.REWRITTEN.number();

  private final ThreadLocal<List<Table>> tables4;
  private final ThreadLocal<List<Table>> tables6;

  /** One table with the memory of a thread for a key and a value. */
  private record Table(BpfMap map, EntryBuffer entry, boolean isTcp, boolean isOverflow) {
    static Table of(BpfMap map, boolean isTcp, boolean isOverflow) {
      return new Table(map, new EntryBuffer(map), isTcp, isOverflow);
    }

    boolean has(int protocol) {
      return isOverflow || isTcp == (protocol == TCP);
    }
  }

  ProxiedFlows(Function<MapProperties, BpfMap> maps) {
    tables4 =
        ThreadLocal.withInitial(
            () ->
                List.of(
                    Table.of(maps.apply(MapCatalog.CONNTRACK4_TCP), true, false),
                    Table.of(maps.apply(MapCatalog.CONNTRACK4_ANY), false, false),
                    Table.of(maps.apply(MapCatalog.CONNTRACK4_OVERFLOW), false, true)));
    tables6 =
        ThreadLocal.withInitial(
            () ->
                List.of(
                    Table.of(maps.apply(MapCatalog.CONNTRACK6_TCP), true, false),
                    Table.of(maps.apply(MapCatalog.CONNTRACK6_ANY), false, false),
                    Table.of(maps.apply(MapCatalog.CONNTRACK6_OVERFLOW), false, true)));
  }

  /** Returns the flow between a client and a proxy that has this address and port. */
  Optional<RedirectedFlow> find(
      int protocol, IpAddress client, int clientPort, IpAddress proxy, int port) {
    final boolean isIpv4 = client.isIpv4();
    final boolean isHigh = isAbove(client, clientPort, proxy, port);
    for (final Table table : (isIpv4 ? tables4 : tables6).get()) {
      if (!table.has(protocol)) {
        continue;
      }
      final IpAddress low = isHigh ? proxy : client;
      final IpAddress high = isHigh ? client : proxy;
      final int lowPort = isHigh ? port : clientPort;
      final int highPort = isHigh ? clientPort : port;
      if (isIpv4) {
        key4(table.entry, protocol, low, lowPort, high, highPort);
      } else {
        key6(table.entry, protocol, low, lowPort, high, highPort);
      }
      if (table.map.lookup(table.entry) == 0) {
        return flow(table.entry, protocol, client, clientPort, isHigh ? 1 : 0);
      }
    }
    return Optional.empty();
  }

  private static Optional<RedirectedFlow> flow(
      EntryBuffer found, int protocol, IpAddress client, int clientPort, int side) {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(found.value(), 0);
    final boolean isInitiatorHigh = (entry.flags() & ConntrackFlag.INITIATOR_HIGH.number()) != 0;
    if ((entry.flags() & PROXIED) != PROXIED || isInitiatorHigh != (side == 1)) {
      return Optional.empty();
    }
    final IpAddress server =
        IpAddress.ofWords(client.isIpv4(), entry.end().addressHigh(), entry.end().addressLow());
    return Optional.of(
        new RedirectedFlow(
            protocol,
            client,
            clientPort,
            entry.identity(side),
            ConntrackEntries.endpointId(entry, side),
            server,
            entry.end().port(),
            entry.identity(1 - side),
            ConntrackEntries.endpointId(entry, 1 - side)));
  }

  private static void key4(
      EntryBuffer entry, int protocol, IpAddress low, int lowPort, IpAddress high, int highPort) {
    new Conntrack4KeyFlyweight()
        .wrap(entry.key(), 0)
        .clear()
        .lowAddress((int) low.low())
        .highAddress((int) high.low())
        .lowPort(lowPort)
        .highPort(highPort)
        .protocol(protocol);
  }

  private static void key6(
      EntryBuffer entry, int protocol, IpAddress low, int lowPort, IpAddress high, int highPort) {
    new Conntrack6KeyFlyweight()
        .wrap(entry.key(), 0)
        .clear()
        .lowAddress(low.high(), low.low())
        .highAddress(high.high(), high.low())
        .lowPort(lowPort)
        .highPort(highPort)
        .protocol(protocol);
  }

  /** Returns whether an end is the high one, as the words that a little-endian program loads. */
  private static boolean isAbove(IpAddress one, int onePort, IpAddress other, int otherPort) {
    int order =
        one.isIpv4()
            ? Integer.compareUnsigned(
                Integer.reverseBytes((int) one.low()), Integer.reverseBytes((int) other.low()))
            : Long.compareUnsigned(Long.reverseBytes(one.low()), Long.reverseBytes(other.low()));
    if (order == 0) {
      order = Long.compareUnsigned(Long.reverseBytes(one.high()), Long.reverseBytes(other.high()));
    }
    if (order == 0) {
      order =
          Integer.compare(
              Short.reverseBytes((short) onePort) & 0xffff,
              Short.reverseBytes((short) otherPort) & 0xffff);
    }
    return order > 0;
  }
}
