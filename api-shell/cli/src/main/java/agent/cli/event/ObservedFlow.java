package agent.cli.event;

import agent.cli.output.Tree;
import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Packet;
import java.util.Locale;
import java.util.Map;

/**
 * What filters ask about an event of a packet, or of a request that a proxy has judged.
 *
 * @param endpoint the endpoint whose program saw the packet; 0: none
 * @param protocol number of the protocol in the packet's last header (IANA)
 * @param application {@code http} or {@code dns}; empty: it is a packet
 * @param verdict one of the values of {@code --verdict}
 * @param dropReason empty: it is no drop of a packet
 */
record ObservedFlow(
    End source,
    End destination,
    long endpoint,
    int protocol,
    String application,
    String verdict,
    String dropReason) {
  private static final int TCP = 6;
  private static final int UDP = 17;

  /** Returns the flow of an event; null: it is about none. */
  static ObservedFlow of(MonitorEvent event) {
    return switch (event) {
      case Packet packet -> of(packet);
      case Activity activity -> of(MonitorLines.members(activity));
      default -> null;
    };
  }

  private static ObservedFlow of(Packet packet) {
    return new ObservedFlow(
        packet.source(),
        packet.destination(),
        packet.endpoint(),
        packet.protocol(),
        "",
        FlowFilter.verdict(packet),
        packet.kind() == Kind.DROP ? packet.reason() : "");
  }

  /** Returns the flow of what the agent did; null: it is about none. */
  static ObservedFlow of(Map<String, Object> activity) {
    if (!"l7".equals(activity.get("kind"))) {
      return null;
    }
    final String protocol = Tree.text(activity, "protocol");
    return new ObservedFlow(
        end(activity.get("source")),
        end(activity.get("destination")),
        0,
        "UDP".equals(activity.get("transport")) ? UDP : TCP,
        protocol.startsWith("HTTP/") ? "http" : protocol.toLowerCase(Locale.ROOT),
        "Forwarded".equals(activity.get("verdict")) ? "forwarded" : "dropped",
        "");
  }

  private static End end(Object end) {
    return new End(
        MonitorClient.address(Tree.text(end, "ip")),
        Integer.parseInt(Tree.text(end, "port")),
        Long.parseLong(Tree.text(end, "identity")));
  }

  boolean hasPorts() {
    return MonitorLines.hasPorts(protocol);
  }
}
