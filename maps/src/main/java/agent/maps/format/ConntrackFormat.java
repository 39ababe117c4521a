package agent.maps.format;

import static agent.maps.layout.ConntrackFlag.DENIED;
import static agent.maps.layout.ConntrackFlag.DIRECTION_UNKNOWN;
import static agent.maps.layout.ConntrackFlag.INITIATOR_HIGH;
import static agent.maps.layout.ConntrackFlag.SEEN_FIN_HIGH;
import static agent.maps.layout.ConntrackFlag.SEEN_FIN_LOW;
import static agent.maps.layout.ConntrackFlag.SEEN_REPLY;
import static agent.maps.layout.ConntrackFlag.SEEN_RST;

import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackEntries;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import org.agrona.MutableDirectBuffer;

/**
 * Formats flows as {@code 10.1.0.7:43210 -> 10.1.0.9:80 TCP out}, in the direction from the
 * initiator: {@code out} if only the initiator is an endpoint of this node, {@code in} if only the
 * responder is, {@code local} if both are. Pairs in the value list the initiator first.
 */
final class ConntrackFormat implements MapFormat {
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final boolean ipv6;

  ConntrackFormat(boolean ipv6) {
    this.ipv6 = ipv6;
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    if (value == null) {
      appendTuple(out, key, keyOffset, false, " <-> ");
      return;
    }
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(value, valueOffset);
    final int initiator = initiator(entry);
    appendTuple(out, key, keyOffset, initiator == 1, " -> ");
    final boolean from = ConntrackEntries.endpointId(entry, initiator) != 0;
    final boolean to = ConntrackEntries.endpointId(entry, 1 - initiator) != 0;
    if (from || to) {
      out.append(from && to ? " local" : from ? " out" : " in");
    }
  }

  private void appendTuple(
      StringBuilder out, MutableDirectBuffer key, int keyOffset, boolean highFirst, String arrow) {
    if (ipv6) {
      final Conntrack6KeyFlyweight flow = new Conntrack6KeyFlyweight().wrap(key, keyOffset);
      final int protocol = flow.protocol();
      appendSide6(out, flow, highFirst, protocol);
      appendSide6(out.append(arrow), flow, !highFirst, protocol);
      appendProtocol(out, protocol, flow.lowPort() | flow.highPort());
    } else {
      final Conntrack4KeyFlyweight flow = new Conntrack4KeyFlyweight().wrap(key, keyOffset);
      final int protocol = flow.protocol();
      appendSide4(out, flow, highFirst, protocol);
      appendSide4(out.append(arrow), flow, !highFirst, protocol);
      appendProtocol(out, protocol, flow.lowPort() | flow.highPort());
    }
  }

  private static void appendSide4(
      StringBuilder out, Conntrack4KeyFlyweight flow, boolean high, int protocol) {
    FieldText.ipv4(out, high ? flow.highAddress() : flow.lowAddress());
    if (!FieldText.icmp(protocol)) {
      out.append(':').append(high ? flow.highPort() : flow.lowPort());
    }
  }

  private static void appendSide6(
      StringBuilder out, Conntrack6KeyFlyweight flow, boolean high, int protocol) {
    final boolean ports = !FieldText.icmp(protocol);
    if (ports) {
      out.append('[');
    }
    if (high) {
      FieldText.ipv6(out, flow.highAddressHigh(), flow.highAddressLow());
    } else {
      FieldText.ipv6(out, flow.lowAddressHigh(), flow.lowAddressLow());
    }
    if (ports) {
      out.append("]:").append(high ? flow.highPort() : flow.lowPort());
    }
  }

  private static void appendProtocol(StringBuilder out, int protocol, int identifier) {
    FieldText.protocol(out.append(' '), protocol);
    if (FieldText.icmp(protocol)) {
      out.append(" id ").append(identifier);
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight().wrap(value, valueOffset);
    final int first = initiator(entry);
    final int second = 1 - first;
    out.append(state(entry));
    if (is(entry, DIRECTION_UNKNOWN)) {
      out.append(", direction unknown");
    }
    if (is(entry, DENIED)) {
      MetricsFormat.appendReason(out.append(" ("), entry.dropReason());
      out.append(')');
    }
    final long expiresMs = entry.expiresNs() / NANOS_PER_MILLI;
    out.append(", expires at uptime ").append(expiresMs / 1000).append('.');
    out.append((char) ('0' + expiresMs / 100 % 10)).append(" s, identities ");
    FieldText.unsigned(out, entry.identity(first));
    FieldText.unsigned(out.append(" -> "), entry.identity(second));
    out.append(", endpoints ").append(ConntrackEntries.endpointId(entry, first));
    out.append(" -> ").append(ConntrackEntries.endpointId(entry, second));
    out.append(", generation ").append(Long.toUnsignedString(entry.generation()));
    if (ConntrackEntries.isRelayed(entry)) {
      out.append(", relayed");
      return;
    }
    out.append(", packets ")
        .append(ConntrackEntries.packets(entry, first))
        .append('/')
        .append(ConntrackEntries.packets(entry, second));
    out.append(", bytes ")
        .append(ConntrackEntries.bytes(entry, first))
        .append('/')
        .append(ConntrackEntries.bytes(entry, second));
  }

  private static String state(ConntrackEntryFlyweight entry) {
    if (is(entry, DENIED)) {
      return "denied";
    }
    if (is(entry, SEEN_RST) || is(entry, SEEN_FIN_LOW) && is(entry, SEEN_FIN_HIGH)) {
      return "closing";
    }
    return is(entry, SEEN_REPLY) ? "established" : "opening";
  }

  private static boolean is(ConntrackEntryFlyweight entry, ConntrackFlag flag) {
    return (entry.flags() & flag.number()) != 0;
  }

  private static int initiator(ConntrackEntryFlyweight entry) {
    return is(entry, INITIATOR_HIGH) ? 1 : 0;
  }
}
