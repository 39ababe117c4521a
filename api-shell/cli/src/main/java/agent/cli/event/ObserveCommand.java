package agent.cli.event;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.DurationText;
import agent.cli.call.Invocation;
import agent.cli.call.Masking;
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
public final class ObserveCommand {
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

  public static CommandSpec<Action> command() {
    final CommandSpec<Action> command =
        CommandSpec.<Action>command(
                "observe",
                "Shows the last packets and requests that the agent keeps.",
                ObserveCommand::run)
            .details(
                """
                Shows the last 20 matching events of packets and of requests that proxies judged (l7); \
                with --since or --summary all of them, where --summary counts packets only. The agent \
                keeps the last events up to its option --flowobs-event-buffer-capacity. By default \
                events are emitted only while 'observe --follow', 'monitor' or 'pcap' runs; the \
                agent's option --flowobs-monitor-events=drop,verdict,l7 keeps drops, verdicts on new \
                flows and requests at all times.

                END is the id of an endpoint, an address, or a label. A picture has one arrow for each \
                pair of ends, port and verdict, with the number of events. JSON output is one object \
                per line, and an array with --summary.""")
            .option(
                OptionSpec.text(
                    LAST, "NUMBER", "Number of last events. Default: 20; all with --since."))
            .option(
                OptionSpec.text(
                    SINCE, "TIME", "Only events since: 30s, 5m, 1h, or 2026-01-31T12:00:00Z."))
            .option(
                OptionSpec.flag(FOLLOW, "Continue with live events until interrupted.")
                    .withLetter("-f"));
    FlowFilter.options().forEach(command::option);
    return command
        .option(
            OptionSpec.text(SUMMARY, "[FORMAT]", "Show who talks to whom: table, dot or mermaid.")
                .among("table", "dot", "mermaid"))
        .example("agentctl observe --since 5m --verdict dropped", "show denied flows")
        .example(
            "agentctl observe --follow --label app=web --port 443",
            "follow the traffic of web on this port")
        .example(
            "agentctl observe --summary dot | dot -Tsvg > flows.svg",
            "draw a picture of the traffic");
  }

  private static void run(Invocation call) throws Exception {
    final String summary = call.option(SUMMARY);
    if (summary == null) {
      switch (call.format().kind()) {
        case TABLE, JSON -> {
          // these two are lines
        }
        default ->
            throw new UsageException(CommonOptions.OUTPUT + ": observe supports table and json");
      }
    } else if (call.isSet(FOLLOW)) {
      throw new UsageException(SUMMARY + ": cannot be combined with " + FOLLOW);
    } else if (!summary.equals("table") && call.format().kind() != OutputFormat.Kind.TABLE) {
      throw new UsageException(SUMMARY + ": " + summary + " has no other output format");
    }
    final Instant since = since(call);
    final long last = call.number(LAST, since == null && summary == null ? LAST_BY_DEFAULT : -1);
    if (last < 0 && call.option(LAST) != null) {
      throw new UsageException(LAST + ": " + last + " is negative");
    }
    final int mask = call.isSet(FOLLOW) ? KEPT : KEPT | MonitorStream.KEPT_ALONE;
    try (MonitorClient events = open(call, mask)) {
      final ObserveCommand observe = new ObserveCommand(call, events);
      observe.show(observe.kept(since, last < 0 ? Long.MAX_VALUE : last), summary);
    }
  }

  /** Writes a line for each event that the agent keeps, without what looks like a secret. */
  public static void writeKept(Invocation call, PrintStream to) throws IOException {
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
              + "' is neither a duration such as 5m nor a time such as"
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
    final MonitorEvent event = events.next(CommonOptions.READ_TIMEOUT);
    if (event == null) {
      throw new IOException("the agent stopped sending kept events");
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
