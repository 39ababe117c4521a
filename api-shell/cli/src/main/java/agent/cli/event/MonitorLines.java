package agent.cli.event;

import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Packet;
import agent.client.MonitorEvent.Place;
import agent.client.MonitorEvent.Translation;
import java.io.ByteArrayInputStream;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** A line for each event: for people, or a JSON object. */
final class MonitorLines {
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS");
  private static final String[] TCP_FLAGS = {"FIN", "SYN", "RST", "PSH", "ACK", "URG"};
  private static final int TCP = 6;
  private static final Set<Integer> PORTS = Set.of(TCP, 17, 132);

  /** Two or more groups that are zero. */
  private static final Pattern ZERO_GROUPS = Pattern.compile("(?<![0-9a-f])(0(?::0)+)(?![0-9a-f])");

  private static final Map<Integer, String> PROTOCOLS =
      Map.of(1, "ICMP", TCP, "TCP", 17, "UDP", 58, "ICMPv6", 132, "SCTP");

  private final EndNames names;
  private final boolean isJson;

  MonitorLines(EndNames names, boolean isJson) {
    this.names = names;
    this.isJson = isJson;
  }

  String of(MonitorEvent event) {
    return switch (event) {
      case Packet packet ->
          isJson
              ? JsonTreeWriter.compact(tree(packet))
              : line(packet) + HexText.dump(packet.bytes());
      case Translation translation ->
          isJson ? JsonTreeWriter.compact(tree(translation)) : line(translation);
      case Activity activity -> isJson ? JsonTreeWriter.compact(tree(activity)) : line(activity);
      default -> throw new IllegalArgumentException(event.toString());
    };
  }

  private static String time(Instant time) {
    return TIME.format(time.atZone(ZoneId.systemDefault()));
  }

  private String line(Packet packet) {
    final String kind = packet.kind().name().toLowerCase(Locale.ROOT);
    return "%s %-7s %-7s %s: %s -> %s %s, %d bytes%s"
        .formatted(
            time(packet.time()),
            kind,
            packet.direction(),
            outcome(packet),
            end(packet.source(), hasPorts(packet.protocol())),
            end(packet.destination(), hasPorts(packet.protocol())),
            protocol(packet),
            packet.length(),
            packet.endpoint() == 0 ? "" : ", endpoint " + packet.endpoint());
  }

  private String line(Translation event) {
    final boolean hasPorts = hasPorts(event.protocol());
    return "%s translation %s %s -> %s %s%s"
        .formatted(
            time(event.time()),
            event.place() == Place.SOCKET
                ? "socket of network namespace " + event.namespaceCookie()
                : end(event.source(), hasPorts),
            event.place() == Place.MASQUERADE
                ? "masqueraded as " + end(event.frontend(), hasPorts)
                : "-> " + end(event.frontend(), hasPorts) + service(event.service()),
            end(event.backend(), hasPorts),
            protocol(event.protocol()),
            event.endpoint() == 0 ? "" : ", endpoint " + event.endpoint());
  }

  private String service(long id) {
    final String name = names.service(id);
    return " (service %d%s)".formatted(id, name == null ? "" : " " + Text.oneLine(name));
  }

  private static String outcome(Packet packet) {
    return switch (packet.kind()) {
      case DROP -> packet.reason();
      case VERDICT ->
          packet.isAudited()
              ? "allowed by audit mode"
              : packet.reason().equals("none") ? "allowed" : packet.reason();
      case TRACE -> packet.isAudited() ? "forwarded by audit mode" : "forwarded";
    };
  }

  private String end(End end, boolean hasPort) {
    if (end.address() == null) {
      return "-";
    }
    final String address = text(end.address());
    final StringBuilder text = new StringBuilder(address);
    if (hasPort) {
      text.setLength(0);
      text.append(address.indexOf(':') < 0 ? address : "[" + address + "]");
      text.append(':').append(end.port());
    }
    final String name = names.name(end);
    return name == null ? text.toString() : text.append(" (").append(name).append(')').toString();
  }

  static boolean hasPorts(int protocol) {
    return PORTS.contains(protocol);
  }

  /** IPv6 addresses are in the short form of RFC 5952. */
  static String text(InetAddress address) {
    final String full = address.getHostAddress();
    if (!(address instanceof Inet6Address)) {
      return full;
    }
    String longest = "";
    final Matcher zeros = ZERO_GROUPS.matcher(full);
    while (zeros.find()) {
      longest = zeros.group(1).length() > longest.length() ? zeros.group(1) : longest;
    }
    if (longest.isEmpty()) {
      return full;
    }
    final String padded = (":" + full + ":").replaceFirst(":" + longest + ":", "::");
    final int start = padded.startsWith("::") ? 0 : 1;
    return padded.substring(start, padded.endsWith("::") ? padded.length() : padded.length() - 1);
  }

  private static String protocol(Packet packet) {
    if (packet.source().address() == null) {
      return "neither IPv4 nor IPv6";
    }
    final String name = protocol(packet.protocol());
    return packet.protocol() == TCP && packet.tcpFlags() != 0
        ? name + " " + String.join(",", flags(packet.tcpFlags()))
        : name;
  }

  /** Returns the name of a protocol by its number. */
  static String protocol(int number) {
    return PROTOCOLS.getOrDefault(number, "protocol " + number);
  }

  /** Returns the number of the protocol that has this name; -1 where none has it. */
  static int protocolNumber(String name) {
    return PROTOCOLS.entrySet().stream()
        .filter(protocol -> protocol.getValue().equalsIgnoreCase(name))
        .mapToInt(Map.Entry::getKey)
        .findFirst()
        .orElse(-1);
  }

  private static List<String> flags(int bits) {
    return IntStream.range(0, TCP_FLAGS.length)
        .filter(i -> (bits >>> i & 1) != 0)
        .mapToObj(i -> TCP_FLAGS[i])
        .toList();
  }

  private Map<String, Object> tree(Packet packet) {
    final Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("time", packet.time().toString());
    tree.put("type", packet.kind().name().toLowerCase(Locale.ROOT));
    tree.put("reason", packet.reason());
    tree.put("direction", packet.direction());
    tree.put("endpoint", number(packet.endpoint()));
    tree.put("protocol", number(packet.protocol()));
    if (packet.protocol() == TCP) {
      tree.put("tcp-flags", flags(packet.tcpFlags()));
    }
    tree.put("source", tree(packet.source()));
    tree.put("destination", tree(packet.destination()));
    tree.put("length", number(packet.length()));
    tree.put("interface-index", number(packet.interfaceIndex()));
    tree.put("audit", packet.isAudited());
    if (packet.bytes().hasRemaining()) {
      tree.put("bytes", HexText.of(packet.bytes()));
    }
    return tree;
  }

  private Map<String, Object> tree(Translation event) {
    final Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("time", event.time().toString());
    tree.put("type", "translation");
    tree.put("place", event.place().name().toLowerCase(Locale.ROOT));
    final boolean isMasqueraded = event.place() == Place.MASQUERADE;
    if (!isMasqueraded) {
      tree.put("service", number(event.service()));
      tree.put("service-name", names.service(event.service()));
    }
    tree.put("endpoint", number(event.endpoint()));
    tree.put("protocol", number(event.protocol()));
    if (event.place() == Place.SOCKET) {
      tree.put("network-namespace", number(event.namespaceCookie()));
    } else {
      tree.put("source", tree(event.source()));
    }
    final Map<String, Object> frontend = new LinkedHashMap<>();
    frontend.put("address", text(event.frontend().address()));
    frontend.put("port", number(event.frontend().port()));
    tree.put(isMasqueraded ? "masqueraded-as" : "frontend", frontend);
    tree.put(isMasqueraded ? "destination" : "backend", tree(event.backend()));
    return tree;
  }

  private Map<String, Object> tree(End end) {
    final Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("address", end.address() == null ? null : text(end.address()));
    tree.put("port", number(end.port()));
    tree.put("identity", number(end.identity()));
    tree.put("labels", names.labels(end.identity()));
    final EndNames.Endpoint endpoint = names.endpoint(end.address());
    if (endpoint != null) {
      tree.put("endpoint", number(endpoint.id()));
      tree.put("name", endpoint.name());
    }
    return tree;
  }

  private static Tree.Numeral number(long value) {
    return new Tree.Numeral(Long.toString(value));
  }

  private Map<String, Object> tree(Activity event) {
    final Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("time", event.time().toString());
    final Map<String, Object> members = members(event);
    final ObservedFlow flow = ObservedFlow.of(members);
    tree.put("type", flow == null ? "agent" : members.remove("kind"));
    final Object queryType = flow == null ? null : members.remove("type"); // of a lookup
    if (queryType != null) {
      tree.put("query-type", queryType);
    }
    tree.putAll(members);
    if (flow != null) {
      tree.put("source", tree(flow.source()));
      tree.put("destination", tree(flow.destination()));
    }
    return tree;
  }

  /** Returns what an event of the agent has. */
  static Map<String, Object> members(Activity event) {
    final byte[] json = event.json().getBytes(StandardCharsets.UTF_8);
    return Tree.members(AnswerPrinter.tree(new ByteArrayInputStream(json)));
  }

  private static String service(Map<String, Object> members) {
    final String what = "service %s %s".formatted(members.get("service"), members.get("change"));
    final Object frontend = members.get("frontend");
    return frontend == null
        ? what
        : "%s: %s with %s backends".formatted(what, frontend, members.get("backends"));
  }

  private static String policy(Map<String, Object> members) {
    final List<?> labels = Tree.list(members, "labels");
    final Object others = members.get("labels-left-out");
    return "policy revision %s: %s rules, %s added, %s removed%s%s"
        .formatted(
            members.get("revision"),
            members.get("rules"),
            members.get("added"),
            members.get("removed"),
            labels.isEmpty() ? "" : ", labels " + Text.of(labels),
            others == null ? "" : " and " + others + " more");
  }

  private String line(Activity event, ObservedFlow flow, Map<String, Object> members) {
    return Text.oneLine(
        "%s %-15s %s: %s -> %s %s"
            .formatted(
                time(event.time()),
                "l7",
                Tree.text(members, "verdict").toLowerCase(Locale.ROOT),
                end(flow.source(), true),
                end(flow.destination(), true),
                RequestText.of(members)));
  }

  private String line(Activity event) {
    final Map<String, Object> members = members(event);
    final ObservedFlow flow = ObservedFlow.of(members);
    if (flow != null) {
      return line(event, flow, members);
    }
    final String said = Tree.text(members, "message");
    final String message = said == null || said.isEmpty() ? "" : ": " + said;
    final String what =
        switch (Text.of(members.get("kind"))) {
          case "api" ->
              "%s %s %s by %s"
                  .formatted(
                      members.get("method"),
                      members.get("path"),
                      members.get("status"),
                      members.get("client"));
          case "endpoint" ->
              "endpoint %s %s".formatted(members.get("endpoint"), members.get("state"));
          case "service" -> service(members);
          case "policy" -> policy(members);
          case "dns" ->
              "lookup of %s: %s, TTL %s s"
                  .formatted(members.get("fqdn"), members.get("ips"), members.get("ttl"));
          default -> Text.of(members);
        };
    return Text.oneLine("%s %-7s %s%s".formatted(time(event.time()), "agent", what, message));
  }
}
