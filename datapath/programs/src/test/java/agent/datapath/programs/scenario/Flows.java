package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.Conntrack6Map;
import agent.maps.layout.ConntrackDelivery;
import agent.maps.layout.ConntrackEntries;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.ConntrackRewrite;
import agent.testkit.Packets;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Map;
import org.agrona.ExpandableArrayBuffer;

/** Reads and changes the conntrack entries of a scenario, by initiator and responder. */
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
      int initiatorId,
      int responderId,
      long initiatorPackets,
      long initiatorBytes,
      long responderPackets,
      long responderBytes,
      int serviceId,
      int openedAt) {
    /** Returns the remaining time until the entry expires. */
    Duration lifetime() {
      return Duration.ofNanos(expiresNs - System.nanoTime());
    }

    boolean has(ConntrackFlag flag) {
      return (flags & flag.number()) != 0;
    }
  }

  /**
   * What an entry changes in the packets of one side.
   *
   * @param destination whether it changes the destination, else the source
   * @param host the host whose address they get
   * @param port the port that they get; 0: the port stays
   */
  record Rewriting(boolean destination, ScenarioHost host, int port) {}

  private final Conntrack4Map tcp4;
  private final Conntrack4Map any4;
  private final Conntrack6Map tcp6;
  private final Conntrack6Map any6;
  private final Conntrack4Map overflow4;
  private final Conntrack6Map overflow6;

  Flows(Map<String, BpfMap> maps) {
    tcp4 = new Conntrack4Map(maps.get("conntrack4_tcp"));
    any4 = new Conntrack4Map(maps.get("conntrack4_any"));
    tcp6 = new Conntrack6Map(maps.get("conntrack6_tcp"));
    any6 = new Conntrack6Map(maps.get("conntrack6_any"));
    overflow4 = new Conntrack4Map(maps.get("conntrack4_overflow"));
    overflow6 = new Conntrack6Map(maps.get("conntrack6_overflow"));
  }

  /** Returns the number of entries in the overflow. */
  long inOverflow() {
    return overflow4.map().countEntries() + overflow6.map().countEntries();
  }

  /** Returns the number of entries in all tables but the overflow. */
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
      Conntrack4Map map = protocol == WorkloadPolicy.TCP ? tcp4 : any4;
      if (isMissing(map.find(a.ipv4Number(), aPort, b.ipv4Number(), bPort, protocol))) {
        map = overflow4;
        if (isMissing(map.find(a.ipv4Number(), aPort, b.ipv4Number(), bPort, protocol))) {
          return null;
        }
      }
      aIsLow = map.foundKey().lowAddress() == a.ipv4Number() && map.foundKey().lowPort() == aPort;
      copy(map.found(), entry);
    } else {
      Conntrack6Map map = protocol == WorkloadPolicy.TCP ? tcp6 : any6;
      if (isMissing(
          map.find(a.ipv6High(), a.ipv6Low(), aPort, b.ipv6High(), b.ipv6Low(), bPort, protocol))) {
        map = overflow6;
        if (isMissing(
            map.find(
                a.ipv6High(), a.ipv6Low(), aPort, b.ipv6High(), b.ipv6Low(), bPort, protocol))) {
          return null;
        }
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

  /**
   * Makes an entry rewrite the packets that {@code from} sends. Where they get the address of
   * another workload as their destination, they are delivered to it.
   */
  void rewrite(
      Family family,
      ScenarioHost from,
      int fromPort,
      ScenarioHost to,
      int toPort,
      int protocol,
      Rewriting rewriting) {
    assertNotNull(find(family, from, fromPort, to, toPort, protocol));
    final boolean isTcp = protocol == WorkloadPolicy.TCP;
    final ScenarioHost replaced = rewriting.destination() ? to : from;
    final int checksum = difference(family, replaced, rewriting.host());
    if (family == Family.IPV4) {
      final Conntrack4Map map = isTcp ? tcp4 : any4;
      map.found()
          .end()
          .address((long) rewriting.host().ipv4Number() << Integer.SIZE, 0)
          .checksum(checksum);
      fill(map.found(), map.foundKey().lowAddress() == from.ipv4Number(), rewriting);
      assertEquals(0, map.put());
    } else {
      final Conntrack6Map map = isTcp ? tcp6 : any6;
      map.found()
          .end()
          .address(rewriting.host().ipv6High(), rewriting.host().ipv6Low())
          .checksum(checksum);
      fill(map.found(), map.foundKey().lowAddressLow() == from.ipv6Low(), rewriting);
      assertEquals(0, map.put());
    }
  }

  /** Removes an entry, as the kernel does that evicts it. */
  void delete(Family family, ScenarioHost a, int aPort, ScenarioHost b, int bPort, int protocol) {
    assertNotNull(find(family, a, aPort, b, bPort, protocol));
    final boolean isTcp = protocol == WorkloadPolicy.TCP;
    assertEquals(
        0,
        family == Family.IPV4
            ? (isTcp ? tcp4 : any4).deleteFound()
            : (isTcp ? tcp6 : any6).deleteFound());
  }

  /** Removes an entry from the overflow, as the kernel does that evicts it. */
  void deleteFromOverflow(
      Family family, ScenarioHost a, int aPort, ScenarioHost b, int bPort, int protocol) {
    assertNotNull(find(family, a, aPort, b, bPort, protocol));
    assertEquals(0, family == Family.IPV4 ? overflow4.deleteFound() : overflow6.deleteFound());
  }

  /** Expires an entry of the overflow. */
  void expireInOverflow(
      Family family, ScenarioHost a, int aPort, ScenarioHost b, int bPort, int protocol) {
    assertNotNull(find(family, a, aPort, b, bPort, protocol));
    if (family == Family.IPV4) {
      overflow4.found().expiresNs(1);
      assertEquals(0, overflow4.put());
    } else {
      overflow6.found().expiresNs(1);
      assertEquals(0, overflow6.put());
    }
  }

  /** Sets the service of an entry, and when it was opened. */
  void setService(
      Family family,
      ScenarioHost a,
      int aPort,
      ScenarioHost b,
      int bPort,
      int protocol,
      int service,
      int openedAt) {
    assertNotNull(find(family, a, aPort, b, bPort, protocol));
    final boolean isTcp = protocol == WorkloadPolicy.TCP;
    if (family == Family.IPV4) {
      final Conntrack4Map map = isTcp ? tcp4 : any4;
      map.found().serviceId(service).openedAt(openedAt);
      assertEquals(0, map.put());
    } else {
      final Conntrack6Map map = isTcp ? tcp6 : any6;
      map.found().serviceId(service).openedAt(openedAt);
      assertEquals(0, map.put());
    }
  }

  private static void fill(ConntrackEntryFlyweight entry, boolean ofLowSide, Rewriting rewriting) {
    entry
        .flags(entry.flags() | ConntrackFlag.REWRITTEN.number())
        .rewrite(
            (rewriting.destination() ? ConntrackRewrite.DESTINATION.number() : 0)
                | (ofLowSide ? 0 : ConntrackRewrite.FROM_HIGH.number()))
        .end()
        .port(rewriting.port());
    if (rewriting.destination() && rewriting.host().isLocal()) {
      final int side = ofLowSide ? 1 : 0;
      entry
          .deliveryKind(side, ConntrackDelivery.TO_PEER.number())
          .deliveryIndex(side, rewriting.host().id);
    }
  }

  /** Returns the new address minus the old one, as one's complement sums of words of the host. */
  private static int difference(Family family, ScenarioHost old, ScenarioHost now) {
    final int bytes = family == Family.IPV4 ? 4 : 16;
    final ByteBuffer from = ByteBuffer.wrap(Packets.address(family.address(old), bytes));
    final ByteBuffer to = ByteBuffer.wrap(Packets.address(family.address(now), bytes));
    int sum = 0;
    for (int at = 0; at < bytes; at += Short.BYTES) {
      sum += to.order(ByteOrder.nativeOrder()).getShort(at) & 0xffff;
      sum += ~from.order(ByteOrder.nativeOrder()).getShort(at) & 0xffff;
    }
    while (sum > 0xffff) {
      sum = (sum & 0xffff) + (sum >>> 16);
    }
    return sum;
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
        .dropReason(from.dropReason())
        .serviceId(from.serviceId())
        .openedAt(from.openedAt());
    for (int side = 0; side < 2; side++) {
      to.identity(side, from.identity(side));
      to.packets(side, ConntrackEntries.packets(from, side));
      to.bytes(side, ConntrackEntries.bytes(from, side));
      to.deliveryKind(side, ConntrackDelivery.TO_PEER.number());
      to.deliveryIndex(side, from.deliveryIndex(side));
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
        entry.deliveryIndex(opened),
        entry.deliveryIndex(1 - opened),
        ConntrackEntries.packets(entry, opened),
        ConntrackEntries.bytes(entry, opened),
        ConntrackEntries.packets(entry, 1 - opened),
        ConntrackEntries.bytes(entry, 1 - opened),
        entry.serviceId(),
        entry.openedAt());
  }
}
