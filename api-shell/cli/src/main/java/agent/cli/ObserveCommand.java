package agent.cli;

import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.output.OutputFormat;
import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.Packet;
import agent.contract.monitor.MonitorStream;
import java.io.IOException;
import java.io.PrintStream;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;

/** {@code agentctl observe}. */
final class ObserveCommand {
  private static final String LAST = "--last";
  private static final String SINCE = "--since";
  private static final String FOLLOW = "--follow";
  private static final String SUMMARY = "--summary";
  private static final long LAST_BY_DEFAULT = 20;
  private static final int KEPT =
      MonitorStream.DROPS
          | MonitorStream.VERDICTS
          | MonitorStream.TRACES
          | MonitorStream.REQUESTS
          | MonitorStream.KEPT_FIRST;

  private final Invocation call;
  private final MonitorClient events;
  private final Predicate<MonitorEvent> filter;
  private final MonitorCommand monitor;
  private final EndNames names;

  private ObserveCommand(Invocation call, MonitorClient events) throws IOException {
    this.call = call;
    this.events = events;
    names = new EndNames(call);
    filter = FlowFilter.of(call, names, events.reasons());
    names.load();
    monitor = new MonitorCommand(call, events, names, filter);
  }

  static CommandSpec<Action> command() {
    final CommandSpec<Action> command =
        CommandSpec.<Action>command(
                "observe",
                "Shows the last packets and requests that the agent has kept.",
                ObserveCommand::run)
            .details(
                """
                Shows the last 20 events of packets, and of requests that proxies have judged (l7), that \
                match, or all with --since or --summary, which counts packets alone. The agent keeps as many as its option --flowobs-event-buffer-capacity says, of all that there are. \
                By default there are events only while 'observe --follow', 'monitor' or \
                'pcap' runs; the agent's option --flowobs-monitor-events=drop,verdict,l7 has drops, \
                verdicts on new flows and requests kept at all times.

                An END is the number of an endpoint, an address, or a label. A picture has an arrow for \
                each pair of ends, port and verdict, and how many events there are. JSON is one object \
                a line, and an array with --summary.""")
            .option(
                OptionSpec.text(
                    LAST, "NUMBER", "Only the last so many. Default: 20; all with --since."))
            .option(
                OptionSpec.text(
                    SINCE, "TIME", "Only since then: 30s, 5m, 1h, or 2026-01-31T12:00:00Z."))
            .option(
                OptionSpec.flag(FOLLOW, "Goes on with what comes, until it is interrupted.")
                    .withLetter("-f"));
    FlowFilter.options().forEach(command::option);
    return command
        .option(
            OptionSpec.text(SUMMARY, "[FORMAT]", "Shows who talks to whom: table, dot or mermaid.")
                .among("table", "dot", "mermaid"))
        .example("agentctl observe --since 5m --verdict dropped", "what was denied, and to whom")
        .example("agentctl observe --follow --label app=web --port 443", "what web does there")
        .example("agentctl observe --summary dot | dot -Tsvg > flows.svg", "a picture of it");
  }

  private static void run(Invocation call) throws Exception {
    final String summary = call.option(SUMMARY);
    if (summary == null) {
      switch (call.format().kind()) {
        case TABLE, JSON -> {
          // these two are lines
        }
        default -> throw new UsageException(CommandTree.OUTPUT + ": observe takes table or json");
      }
    } else if (call.isSet(FOLLOW)) {
      throw new UsageException(SUMMARY + ": not with " + FOLLOW);
    } else if (!summary.equals("table") && call.format().kind() != OutputFormat.Kind.TABLE) {
      throw new UsageException(SUMMARY + ": " + summary + " has no other format");
    }
    final Instant since = since(call);
    final long last = call.number(LAST, since == null && summary == null ? LAST_BY_DEFAULT : -1);
    if (last < 0 && call.option(LAST) != null) {
      throw new UsageException(LAST + ": " + last + " is below 0");
    }
    final int mask = call.isSet(FOLLOW) ? KEPT : KEPT | MonitorStream.KEPT_ALONE;
    try (MonitorClient events = open(call, mask)) {
      final ObserveCommand observe = new ObserveCommand(call, events);
      observe.show(observe.kept(since, last < 0 ? Long.MAX_VALUE : last), summary);
    }
  }

  /** Writes a line for each event that the agent keeps, without what looks like a secret. */
  static void writeKept(Invocation call, PrintStream to) throws IOException {
    try (MonitorClient events = open(call, KEPT | MonitorStream.KEPT_ALONE)) {
      final ObserveCommand observe = new ObserveCommand(call, events);
      for (final MonitorEvent event : observe.kept(null, Long.MAX_VALUE)) {
        to.println(Masking.mask(observe.monitor.line(event)));
      }
    }
  }

  private static MonitorClient open(Invocation call, int mask) throws IOException {
    final MonitorClient events = MonitorCommand.open(call, mask);
    if (events.keptEvents() == 0) {
      events.close();
      throw new IOException(
          "the agent keeps no events: its option flowobs-event-buffer-capacity is 0");
    }
    return events;
  }

  private static Instant since(Invocation call) {
    final String text = call.option(SINCE);
    if (text == null) {
      return null;
    }
    if (text.matches("[1-9][0-9]{0,3}h")) {
      return call.now().minus(Duration.ofHours(Long.parseLong(text.replace("h", ""))));
    }
    if (text.indexOf('-') < 0) {
      return call.now().minus(DurationText.of(SINCE, text, null));
    }
    try {
      return switch (DateTimeFormatter.ISO_DATE_TIME.parseBest(
          text, OffsetDateTime::from, LocalDateTime::from)) {
        case OffsetDateTime time -> time.toInstant();
        case TemporalAccessor time ->
            LocalDateTime.from(time).atZone(ZoneId.systemDefault()).toInstant();
      };
    } catch (DateTimeException e) {
      throw new UsageException(
          SINCE
              + ": '"
              + text
              + "' is neither a time such as 5m nor one such as"
              + " 2026-01-31T12:00:00Z");
    }
  }

  /** Returns the last events that match, the oldest first; the agent sends packets first. */
  private List<MonitorEvent> kept(Instant since, long last) throws IOException {
    final List<MonitorEvent> kept = new ArrayList<>();
    MonitorEvent.Lost lost = null;
    for (MonitorEvent event = next(); !(event instanceof MonitorEvent.KeptEnd); event = next()) {
      if (event instanceof MonitorEvent.Lost total) {
        lost = total;
      } else if (filter.test(event) && (since == null || !time(event).isBefore(since))) {
        kept.add(event);
      }
    }
    if (lost != null) {
      monitor.tell(lost);
    }
    kept.sort(Comparator.comparing(ObserveCommand::time));
    return kept.subList((int) Math.max(0, kept.size() - last), kept.size());
  }

  private static Instant time(MonitorEvent event) {
    return switch (event) {
      case Packet packet -> packet.time();
      case Activity activity -> activity.time();
      default -> throw new IllegalArgumentException(event.toString());
    };
  }

  private MonitorEvent next() throws IOException {
    final MonitorEvent event = events.next(CommandTree.READ_TIMEOUT);
    if (event == null) {
      throw new IOException("the agent sends no more of what it has kept");
    }
    return event;
  }

  private void show(List<MonitorEvent> kept, String summary) throws IOException {
    if (summary == null) {
      kept.forEach(monitor::print);
      if (call.isSet(FOLLOW)) {
        monitor.show(Long.MAX_VALUE);
      }
      return;
    }
    final List<Packet> packets =
        kept.stream().filter(Packet.class::isInstance).map(Packet.class::cast).toList();
    final FlowSummary flows = new FlowSummary(packets, names);
    switch (summary) {
      case "dot" -> call.out().print(flows.dot());
      case "mermaid" -> call.out().print(flows.mermaid());
      default -> call.printer().list((Object) flows.trees(), FlowSummary.listing());
    }
  }
}
