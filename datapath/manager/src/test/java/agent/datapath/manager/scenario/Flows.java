package agent.datapath.manager.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.Conntrack6Map;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import java.time.Duration;
import java.util.Map;
import org.agrona.ExpandableArrayBuffer;

/** Reads the conntrack entries of a scenario, by initiator and responder. */
final class Flows {
  /**
   * A conntrack entry.
   *
   * @param initiator the host that opened the flow
   * @param expiresNs time at which the entry expires, on the clock of {@link System#nanoTime}
   * @param flags bits of {@link ConntrackFlag}
   * @param initiatorPackets packets that the initiator has sent
   */
  record Flow(
      ScenarioHost initiator,
      long expiresNs,
      int flags,
      int dropReason,
      int initiatorIdentity,
      int responderIdentity,
      int responderIfindex,
      long initiatorPackets,
      long initiatorBytes,
      long responderPackets,
      long responderBytes) {
    /** Returns the remaining time until the entry expires. */
    Duration lifetime() {
      return Duration.ofNanos(expiresNs - System.nanoTime());
    }

    boolean has(ConntrackFlag flag) {
      return (flags & flag.number()) != 0;
    }
  }

  private final Conntrack4Map tcp4;
  private final Conntrack4Map any4;
  private final Conntrack6Map tcp6;
  private final Conntrack6Map any6;

  Flows(Map<String, BpfMap> maps) {
    tcp4 = new Conntrack4Map(maps.get("conntrack4_tcp"));
    any4 = new Conntrack4Map(maps.get("conntrack4_any"));
    tcp6 = new Conntrack6Map(maps.get("conntrack6_tcp"));
    any6 = new Conntrack6Map(maps.get("conntrack6_any"));
  }

  /** Returns the number of entries in all tables. */
  long count() {
    return tcp4.map().countEntries()
        + any4.map().countEntries()
        + tcp6.map().countEntries()
        + any6.map().countEntries();
  }

  /** Returns the entry of a flow, or null. */
  Flow find(Family family, ScenarioHost a, int aPort, ScenarioHost b, int bPort, int protocol) {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight();
    final boolean aIsLow;
    if (family == Family.IPV4) {
      final Conntrack4Map map = protocol == WorkloadPolicy.TCP ? tcp4 : any4;
      if (isMissing(map.find(a.ipv4Number(), aPort, b.ipv4Number(), bPort, protocol))) {
        return null;
      }
      aIsLow = map.foundKey().lowAddress() == a.ipv4Number() && map.foundKey().lowPort() == aPort;
      copy(map.found(), entry);
    } else {
      final Conntrack6Map map = protocol == WorkloadPolicy.TCP ? tcp6 : any6;
      if (isMissing(
          map.find(a.ipv6High(), a.ipv6Low(), aPort, b.ipv6High(), b.ipv6Low(), bPort, protocol))) {
        return null;
      }
      aIsLow = map.foundKey().lowAddressLow() == a.ipv6Low() && map.foundKey().lowPort() == aPort;
      copy(map.found(), entry);
    }
    return flow(entry, aIsLow ? a : b, aIsLow ? b : a);
  }

  /** Sets the remaining time until an entry expires; negative: it has expired. */
  void expireAfter(
      Duration lifetime,
      Family family,
      ScenarioHost a,
      int aPort,
      ScenarioHost b,
      int bPort,
      int protocol) {
    assertNotNull(find(family, a, aPort, b, bPort, protocol));
    final boolean isTcp = protocol == WorkloadPolicy.TCP;
    final long expiresNs = System.nanoTime() + lifetime.toNanos();
    if (family == Family.IPV4) {
      final Conntrack4Map map = isTcp ? tcp4 : any4;
      map.found().expiresNs(expiresNs);
      assertEquals(0, map.put());
    } else {
      final Conntrack6Map map = isTcp ? tcp6 : any6;
      map.found().expiresNs(expiresNs);
      assertEquals(0, map.put());
    }
  }

  private static boolean isMissing(int result) {
    if (result == -Errno.ENOENT) {
      return true;
    }
    assertEquals(0, result);
    return false;
  }

  private static void copy(ConntrackEntryFlyweight from, ConntrackEntryFlyweight to) {
    to.wrap(new ExpandableArrayBuffer(ConntrackEntryFlyweight.LENGTH), 0)
        .expiresNs(from.expiresNs())
        .flags(from.flags())
        .dropReason(from.dropReason());
    for (int side = 0; side < 2; side++) {
      to.identity(side, from.identity(side));
      to.packets(side, from.packets(side)).bytes(side, from.bytes(side));
      to.delivery(side).ifindex(from.delivery(side).ifindex());
    }
  }

  private static Flow flow(ConntrackEntryFlyweight entry, ScenarioHost low, ScenarioHost high) {
    final int opened = (entry.flags() & ConntrackFlag.INITIATOR_HIGH.number()) != 0 ? 1 : 0;
    return new Flow(
        opened == 1 ? high : low,
        entry.expiresNs(),
        entry.flags(),
        entry.dropReason(),
        entry.identity(opened),
        entry.identity(1 - opened),
        entry.delivery(1 - opened).ifindex(),
        entry.packets(opened),
        entry.bytes(opened),
        entry.packets(1 - opened),
        entry.bytes(1 - opened));
  }
}
