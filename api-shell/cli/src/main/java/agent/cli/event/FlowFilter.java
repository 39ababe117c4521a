package agent.cli.event;

import agent.cli.call.Invocation;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Packet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Which events of packets and requests {@code agentctl observe} shows. Values of one option are
 * alternatives; several options have to match all.
 */
final class FlowFilter {
  private static final String LABEL = "--label";
  private static final String ENDPOINT = "--endpoint";
  private static final String PORT = "--port";
  private static final String PROTOCOL = "--protocol";
  private static final String VERDICT = "--verdict";
  private static final Set<String> APPLICATIONS = Set.of("http", "dns");
  private static final int LARGEST_PORT = 65_535;
  private static final int LARGEST_PROTOCOL = 255;

  private FlowFilter() {}

  static List<OptionSpec> options() {
    return List.of(
        MonitorCommand.end(MonitorFilter.FROM, "Only packets from END."),
        MonitorCommand.end(MonitorFilter.TO, "Only packets to END."),
        OptionSpec.value(
                LABEL,
                "LABEL",
                ValueKind.LABEL,
                "Only packets from or to an endpoint with this label.")
            .withLetter("-l")
            .repeated(),
        OptionSpec.value(
                ENDPOINT,
                "ID",
                ValueKind.ENDPOINT,
                "Only packets from or to this endpoint, or seen by its programs.")
            .repeated(),
        OptionSpec.text(PORT, "NUMBER", "Only packets from or to this port.").repeated(),
        OptionSpec.text(
                PROTOCOL, "NAME", "Protocol: tcp, udp, sctp, icmp, icmpv6, a number, http or dns.")
            .repeated(),
        OptionSpec.text(VERDICT, "VERDICT", "Verdict: forwarded, dropped, or audit.")
            .among("forwarded", "dropped", "audit")
            .repeated(),
        OptionSpec.text(MonitorFilter.REASON, "REASON", "Only packets dropped for this reason.")
            .repeated());
  }

  /**
   * Reads the options.
   *
   * @param known the drop reasons of the agent
   */
  static Predicate<MonitorEvent> of(Invocation call, EndNames names, List<String> known) {
    final MonitorFilter ends = MonitorFilter.of(call, names, known);
    final Predicate<ObservedFlow> wanted =
        any(call.options(LABEL), text -> either(MonitorFilter.label(text, names)))
            .and(any(call.options(ENDPOINT), text -> endpoint(text, names)))
            .and(any(call.options(PORT), FlowFilter::port))
            .and(any(call.options(PROTOCOL), FlowFilter::protocol))
            .and(any(call.options(VERDICT), text -> flow -> flow.verdict().equals(text)));
    return event -> {
      final ObservedFlow flow = ObservedFlow.of(event);
      return flow != null && ends.matches(flow) && wanted.test(flow);
    };
  }

  /** Reads the values of an option; where there is none, everything matches. */
  private static Predicate<ObservedFlow> any(List<String> texts, Reader reader) {
    final List<Predicate<ObservedFlow>> alternatives = texts.stream().map(reader::read).toList();
    return flow -> alternatives.isEmpty() || alternatives.stream().anyMatch(one -> one.test(flow));
  }

  @FunctionalInterface
  private interface Reader {
    Predicate<ObservedFlow> read(String text);
  }

  private static Predicate<ObservedFlow> either(Predicate<End> end) {
    return flow -> end.test(flow.source()) || end.test(flow.destination());
  }

  private static Predicate<ObservedFlow> endpoint(String text, EndNames names) {
    final long id = number(ENDPOINT, text, LARGEST_PORT);
    return either(MonitorFilter.endpoint(id, names)).or(flow -> flow.endpoint() == id);
  }

  private static Predicate<ObservedFlow> port(String text) {
    final long port = number(PORT, text, LARGEST_PORT);
    return flow ->
        flow.hasPorts() && (flow.source().port() == port || flow.destination().port() == port);
  }

  private static Predicate<ObservedFlow> protocol(String text) {
    if (APPLICATIONS.contains(text)) {
      return flow -> flow.application().equals(text);
    }
    final int known = MonitorLines.protocolNumber(text);
    final long number = known >= 0 ? known : number(PROTOCOL, text, LARGEST_PROTOCOL);
    return flow -> flow.protocol() == number;
  }

  private static long number(String option, String text, int largest) {
    if (!text.matches("[0-9]{1,5}") || Integer.parseInt(text) > largest) {
      throw new UsageException(
          option
              + ": '"
              + text
              + "' is not "
              + (option.equals(PROTOCOL) ? "a protocol" : "a number up to " + largest));
    }
    return Integer.parseInt(text);
  }

  /** Returns what became of a packet: one of the values of {@code --verdict}. */
  static String verdict(Packet packet) {
    if (packet.isAudited()) {
      return "audit";
    }
    final boolean isDenied = packet.kind() == Kind.DROP || !packet.reason().equals("none");
    return isDenied ? "dropped" : "forwarded";
  }
}
