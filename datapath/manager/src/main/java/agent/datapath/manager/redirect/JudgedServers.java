package agent.datapath.manager.redirect;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Ipcache4Map;
import agent.maps.kernel.Ipcache6Map;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.types.IpAddress;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Compares what the datapath judged a server to be with what the node takes its address for: the
 * address is one of a host, belongs to the same endpoint in the ipcache, and is delivered to
 * sockets of this node only where it was judged as this node. Any thread may ask; each has memory
 * of its own.
 */
final class JudgedServers {
  /** Reserved identity {@code host}. */
  private static final int HOST_IDENTITY = 1;

  // linux/rtnetlink.h: struct rtmsg with its type at offset 7
  private static final int RTM_NEWROUTE = 24;
  private static final int RTM_GETROUTE = 26;
  private static final int TYPE_OFFSET = 7;

  /** RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST and RTN_MULTICAST. */
  private static final Set<Integer> TO_THIS_NODE = Set.of(2, 3, 4, 5);

  private static final int RTA_DST = 1;

  // linux/socket.h
  private static final int AF_INET = 2;
  private static final int AF_INET6 = 10;

  /** ENETUNREACH and EHOSTUNREACH, and those of routes that prohibit or discard. */
  private static final Set<Integer> NO_ROUTE = Set.of(101, 113, Errno.EACCES, Errno.EINVAL);

  private final ThreadLocal<Ipcache4Map> ipcache4;
  private final ThreadLocal<Ipcache6Map> ipcache6;

  /** One session for each thread of a proxy, which lives as long as the agent. */
  private final ThreadLocal<NetlinkSocket> routes = ThreadLocal.withInitial(NetlinkSocket::open);

  JudgedServers(Function<MapProperties, BpfMap> maps) {
    ipcache4 = ThreadLocal.withInitial(() -> new Ipcache4Map(maps.apply(MapCatalog.IPCACHE4)));
    ipcache6 = ThreadLocal.withInitial(() -> new Ipcache6Map(maps.apply(MapCatalog.IPCACHE6)));
  }

  /** Returns why no proxy may connect to the server of the flow, or empty where one may. */
  Optional<String> refusal(RedirectedFlow flow) {
    final IpAddress server = flow.server();
    if (!server.isOfHost()) {
      return Optional.of(server + " is not a host address");
    }
    if (!isWhatItWas(flow)) {
      return Optional.of(server + " now belongs to another endpoint or to this node");
    }
    try {
      return flow.serverIdentity() != HOST_IDENTITY && isDeliveredHere(server)
          ? Optional.of(
              server + " is delivered to this node, but was judged as " + flow.serverIdentity())
          : Optional.empty();
    } catch (NetlinkException failure) {
      return Optional.of(server + ": " + failure.getMessage());
    }
  }

  private boolean isWhatItWas(RedirectedFlow flow) {
    final IpcacheEntryFlyweight entry = find(flow.server());
    if (entry == null) {
      return flow.serverEndpoint() == 0;
    }
    final boolean isHost = (entry.flags() & IpcacheFlag.HOST.number()) != 0;
    return entry.endpointId() == flow.serverEndpoint()
        && (!isHost || entry.identity() == flow.serverIdentity());
  }

  private IpcacheEntryFlyweight find(IpAddress address) {
    if (address.isIpv4()) {
      final Ipcache4Map map = ipcache4.get();
      return map.lookup((int) address.low(), IpAddress.IPV4_BITS) == 0 ? map.found() : null;
    }
    final Ipcache6Map map = ipcache6.get();
    return map.lookup(address.high(), address.low(), IpAddress.IPV6_BITS) == 0 ? map.found() : null;
  }

  /** Asks the kernel for its route; where it has none, or one that refuses, a socket fails, too. */
  private boolean isDeliveredHere(IpAddress address) {
    final NetlinkRequest request =
        new NetlinkRequest("route to " + address, RTM_GETROUTE, 0)
            .putByte(address.isIpv4() ? AF_INET : AF_INET6)
            .putByte(address.bitLength())
            .putShort(0)
            .putInt(0)
            .putInt(0)
            .attribute(RTA_DST, address.toBytes());
    final NetlinkSocket session = routes.get();
    try {
      return session.query(request, JudgedServers::type).stream().anyMatch(TO_THIS_NODE::contains);
    } catch (NetlinkException failure) {
      session.close(); // it serves nothing after an exception
      routes.remove();
      if (NO_ROUTE.contains(failure.errno())) {
        return false;
      }
      throw failure;
    }
  }

  private static Optional<Integer> type(NetlinkMessageFlyweight message) {
    return message.type() == RTM_NEWROUTE
        ? Optional.of(message.getByte(TYPE_OFFSET))
        : Optional.empty();
  }
}
