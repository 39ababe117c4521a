package agent.cli.event;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.DurationText;
import agent.cli.call.Invocation;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.OutputFormat;
import agent.client.AgentClient;
import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.contract.monitor.MonitorStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** {@code agentctl monitor}. */
public final class MonitorCommand {
  private static final String TYPE = "--type";
  private static final String TRANSLATION = "translation";
  private static final String COUNT = "--count";
  private static final String HEX = "--hex";
  private static final Map<String, Integer> TYPES =
      Map.of(
          "drop",
          MonitorStream.DROPS,
          "verdict",
          MonitorStream.VERDICTS,
          "trace",
          MonitorStream.TRACES,
          "l7",
          MonitorStream.REQUESTS,
          TRANSLATION,
          MonitorStream.TRANSLATIONS,
          "agent",
          MonitorStream.AGENT_EVENTS);
  private static final Duration WAIT = Duration.ofMillis(250);

  private final Invocation call;
  private final MonitorClient events;
  private final Predicate<MonitorEvent> filter;
  private final MonitorLines lines;
  private final RateLine rate;
  private final LostLines lost;

  /** Shows events that a filter matches, with names that are loaded. */
  MonitorCommand(
      Invocation call, MonitorClient events, EndNames names, Predicate<MonitorEvent> filter) {
    this.call = call;
    this.events = events;
    this.filter = filter;
    lines = new MonitorLines(names, call.format().kind() == OutputFormat.Kind.JSON);
    rate = new RateLine(call.terminal(), call.out(), call.err());
    lost = new LostLines(call.err());
  }

  public static CommandSpec<Action> command() {
    return CommandSpec.<Action>command(
            "monitor", "Shows live events of packets and of the agent.", MonitorCommand::run)
        .details(
            """
            Shows events until interrupted: dropped packets (drop), policy verdicts on new flows \
            (verdict), forwarded packets (trace), the backend that a new flow or socket of a service is \
            assigned and the address by which a new flow is masqueraded (translation), HTTP requests \
            and DNS queries that proxies judged (l7), and changes by the API, of endpoints, services \
            and proxies (agent). Endpoint option TraceNotification enables traces of an endpoint, \
            PolicyVerdictNotification its verdicts.

            END is the id of an endpoint, an address, or a label. JSON output is one object per line. \
            Lost events are counted on standard error.""")
        .option(
            OptionSpec.text(
                    TYPE, "TYPE", "Event types: drop, verdict, trace, translation, l7 or agent.")
                .withLetter("-t")
                .among("drop", "verdict", "trace", TRANSLATION, "l7", "agent")
                .repeated())
        .option(end(MonitorFilter.FROM, "Only packets from END."))
        .option(end(MonitorFilter.TO, "Only packets to END."))
        .option(end(MonitorFilter.RELATED, "Only packets from or to END."))
        .option(
            OptionSpec.text(MonitorFilter.REASON, "REASON", "Only packets dropped for this reason.")
                .repeated())
        .option(OptionSpec.text(COUNT, "NUMBER", "Stop after this many events."))
        .option(
            OptionSpec.flag(
                HEX,
                "Also show the first bytes of packets, as many as --trace-payloadlen of the agent."))
        .example("agentctl monitor --type drop", "show dropped packets with reasons")
        .example(
            "agentctl monitor --related-to app=web -o json",
            "show everything that web sends and receives");
  }

  /** Returns an option whose values are ends of packets. */
  static OptionSpec end(String name, String summary) {
    return OptionSpec.value(name, "END", ValueKind.LABEL, summary).repeated();
  }

  private static void run(Invocation call) throws Exception {
    switch (call.format().kind()) {
      case TABLE, JSON -> {
        // these two are lines
      }
      default ->
          throw new UsageException(CommonOptions.OUTPUT + ": monitor supports table and json");
    }
    final long count = call.number(COUNT, Long.MAX_VALUE);
    if (count <= 0) {
      throw new UsageException(COUNT + ": " + count + " is not a positive number");
    }
    final int mask = mask(call.options(TYPE)) | (call.isSet(HEX) ? MonitorStream.PACKET_BYTES : 0);
    try (MonitorClient events = open(call, mask)) {
      if (call.isSet(HEX)) {
        checkCaptures(events);
      }
      if (call.options(TYPE).contains(TRANSLATION) && !events.tellsTranslations()) {
        throw new IOException(
            "the agent has version %s, which does not report translations"
                .formatted(events.agentVersion()));
      }
      final EndNames names = new EndNames(call);
      final MonitorFilter filter = MonitorFilter.of(call, names, events.reasons());
      names.load();
      new MonitorCommand(call, events, names, filter::matches).show(count);
    }
  }

  /** Subscribes to events of the agent that the call names. */
  static MonitorClient open(Invocation call, int mask) throws IOException {
    final Duration timeout =
        DurationText.of(
            CommonOptions.TIMEOUT, call.option(CommonOptions.TIMEOUT), CommonOptions.READ_TIMEOUT);
    return MonitorClient.open(socket(call.address()), mask, timeout);
  }

  /**
   * Checks that events have bytes of packets.
   *
   * @throws IOException saying why they have none
   */
  static void checkCaptures(MonitorClient events) throws IOException {
    if (events.packetBytes() == 0) {
      throw new IOException(
          "the agent (version %s) captures no bytes of packets: its option --trace-payloadlen is 0,"
                  .formatted(events.agentVersion())
              + " or it is older than 0.6.0");
    }
  }

  static Path socket(String address) {
    final String path;
    try {
      path = AgentClient.path(address).toString();
    } catch (IllegalArgumentException e) {
      throw new UsageException(CommonOptions.HOST + ": " + e.getMessage());
    }
    return Path.of(MonitorStream.socketBeside(path));
  }

  private static int mask(List<String> types) {
    int mask = 0;
    for (final String type : types.isEmpty() ? TYPES.keySet() : types) {
      if (!TYPES.containsKey(type)) {
        throw new UsageException(
            TYPE + ": '" + type + "' is not one of drop, verdict, trace, translation, l7, agent");
      }
      mask |= TYPES.get(type);
    }
    return mask;
  }

  /**
   * Shows what comes, until so many were shown or the call is interrupted. What is shown can be
   * read at once, because the question for errors flushes it.
   */
  void show(long count) throws IOException {
    long left = count;
    while (left > 0 && !Thread.currentThread().isInterrupted() && !call.out().checkError()) {
      final MonitorEvent event;
      try {
        event = events.next(WAIT);
      } catch (EOFException ended) {
        rate.erase();
        throw ended;
      }
      if (event instanceof MonitorEvent.Lost now) {
        tell(now);
      } else if (event != null && filter.test(event)) {
        rate.erase();
        print(event);
        rate.count();
        left--;
      }
      rate.show();
    }
  }

  /** Shows an event. */
  void print(MonitorEvent event) {
    call.out().println(line(event));
  }

  String line(MonitorEvent event) {
    return lines.of(event);
  }

  /** Reports on standard error how many more events were lost. */
  void tell(MonitorEvent.Lost now) {
    rate.erase();
    lost.tell(now);
  }
}
