package agent.cli.event;

import agent.cli.output.Listing;
import agent.cli.output.Tree;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Packet;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Who talks to whom: a row for each pair of names, port and verdict. */
final class FlowSummary {
  private static final String DROPPED = "dropped";

  private final EndNames names;
  private final Map<InetAddress, Long> identities = new HashMap<>();
  private final List<Row> rows;

  /**
   * A row.
   *
   * @param from the name of the end that opened the flows
   * @param to the name of the other one
   * @param port what they are to, such as {@code 80/TCP}
   * @param reason why they were dropped; null where they were not
   * @param events how many events there were
   */
  private record Row(
      String from, String to, String port, String verdict, String reason, long events) {
    Row withEvents(long count) {
      return new Row(from, to, port, verdict, reason, count);
    }

    String label() {
      return "%s%s (%d)"
          .formatted(
              port,
              reason != null ? " " + reason : verdict.equals("audit") ? " " + verdict : "",
              events);
    }
  }

  private record Tuple(int protocol, InetAddress from, int fromPort, InetAddress to, int toPort) {
    static Tuple of(Packet packet) {
      return new Tuple(
          packet.protocol(),
          packet.source().address(),
          packet.source().port(),
          packet.destination().address(),
          packet.destination().port());
    }

    Tuple reversed() {
      return new Tuple(protocol, to, toPort, from, fromPort);
    }
  }

  FlowSummary(Iterable<Packet> packets, EndNames names) {
    this.names = names;
    final Set<Tuple> opened = new HashSet<>();
    for (final Packet packet : packets) {
      identify(packet.source());
      identify(packet.destination());
      if (packet.kind() != Kind.TRACE) {
        opened.add(Tuple.of(packet));
      }
    }
    final Map<Row, Long> counts = new LinkedHashMap<>();
    for (final Packet packet : packets) {
      counts.merge(row(packet, isAnswer(packet, opened)), 1L, Long::sum);
    }
    rows =
        counts.entrySet().stream()
            .map(entry -> entry.getKey().withEvents(entry.getValue()))
            .sorted(
                Comparator.comparing(Row::events)
                    .reversed()
                    .thenComparing(Row::from)
                    .thenComparing(Row::to)
                    .thenComparing(Row::port)
                    .thenComparing(Row::label))
            .toList();
  }

  /**
   * Returns whether a packet goes against the direction of its flow. Drops and verdicts are of new
   * flows. Where a traced packet has none of these, the end with the lower port is taken for the
   * one that was called.
   */
  private static boolean isAnswer(Packet packet, Set<Tuple> opened) {
    final Tuple tuple = Tuple.of(packet);
    if (packet.kind() != Kind.TRACE || opened.contains(tuple)) {
      return false;
    }
    return opened.contains(tuple.reversed())
        || MonitorLines.hasPorts(packet.protocol()) && tuple.fromPort() < tuple.toPort();
  }

  private Row row(Packet packet, boolean isAnswer) {
    final End from = isAnswer ? packet.destination() : packet.source();
    final End to = isAnswer ? packet.source() : packet.destination();
    final String verdict = FlowFilter.verdict(packet);
    final String protocol = MonitorLines.protocol(packet.protocol());
    return new Row(
        name(from),
        name(to),
        MonitorLines.hasPorts(packet.protocol()) ? to.port() + "/" + protocol : protocol,
        verdict,
        verdict.equals(DROPPED) ? packet.reason() : null,
        0);
  }

  private void identify(End end) {
    if (end.identity() != 0) {
      identities.put(end.address(), end.identity());
    }
  }

  /** Where an event has no identity, because it was not needed, that of another one is taken. */
  private String name(End end) {
    final long identity =
        end.identity() == 0 ? identities.getOrDefault(end.address(), 0L) : end.identity();
    final String name = names.name(new End(end.address(), end.port(), identity));
    if (name != null) {
      return name;
    }
    return end.address() == null ? "-" : MonitorLines.text(end.address());
  }

  /** Returns the rows for the formats of lists. */
  List<Map<String, Object>> trees() {
    final List<Map<String, Object>> trees = new ArrayList<>();
    for (final Row row : rows) {
      final Map<String, Object> tree = new LinkedHashMap<>();
      tree.put("from", row.from());
      tree.put("to", row.to());
      tree.put("port", row.port());
      tree.put("verdict", row.verdict());
      tree.put("reason", row.reason());
      tree.put("events", new Tree.Numeral(Long.toString(row.events())));
      trees.add(tree);
    }
    return trees;
  }

  static Listing listing() {
    return new Listing("")
        .column("FROM", "from")
        .column("TO", "to")
        .column("PORT", "port")
        .column("VERDICT", "verdict")
        .column("REASON", "reason")
        .column("EVENTS", "events");
  }

  /** Returns a graph in the language of Graphviz. */
  String dot() {
    return rows.stream()
        .map(
            row ->
                "  %s -> %s [label=%s%s];\n"
                    .formatted(
                        quoted(row.from()),
                        quoted(row.to()),
                        quoted(row.label()),
                        switch (row.verdict()) {
                          case DROPPED -> ", color=red, style=dashed";
                          case "audit" -> ", color=orange";
                          default -> "";
                        }))
        .collect(Collectors.joining("", "digraph flows {\n  rankdir=LR;\n", "}\n"));
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  /** Returns a flow chart in the language of Mermaid. */
  String mermaid() {
    final Map<String, String> nodes = new LinkedHashMap<>();
    for (final Row row : rows) {
      nodes.putIfAbsent(row.from(), "n" + nodes.size());
      nodes.putIfAbsent(row.to(), "n" + nodes.size());
    }
    final StringBuilder text = new StringBuilder("flowchart LR\n");
    nodes.forEach(
        (name, id) -> text.append("  %s[\"%s\"]\n".formatted(id, name.replace("\"", "#quot;"))));
    for (final Row row : rows) {
      final String arrow = row.verdict().equals(DROPPED) ? "-.->" : "-->";
      text.append(
          "  %s %s|\"%s\"| %s\n"
              .formatted(nodes.get(row.from()), arrow, row.label(), nodes.get(row.to())));
    }
    return text.toString();
  }
}
