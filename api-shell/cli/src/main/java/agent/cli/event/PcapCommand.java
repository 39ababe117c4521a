package agent.cli.event;

import agent.cli.call.Action;
import agent.cli.call.ClientVersion;
import agent.cli.call.CommonOptions;
import agent.cli.call.DurationText;
import agent.cli.call.Invocation;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Tree;
import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Packet;
import agent.client.RequestPath;
import agent.contract.monitor.MonitorStream;
import java.io.EOFException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** {@code agentctl pcap}. */
public final class PcapCommand {
  private static final String ENDPOINT = "--endpoint";
  private static final String WRITE = "--write";
  private static final String COUNT = "--count";
  private static final String DURATION = "--duration";
  private static final String STANDARD_OUTPUT = "-";
  private static final String TRACES = "TraceNotification";
  private static final Duration WAIT = Duration.ofMillis(250);

  private final Invocation call;
  private final MonitorClient events;
  private final long endpoint;
  private final EndNames names;
  private final List<String> reasons;
  private final LostLines lost;
  private final Map<Long, String> interfaces = new HashMap<>();

  private PcapCommand(Invocation call, MonitorClient events, long endpoint) {
    this.call = call;
    this.events = events;
    this.endpoint = endpoint;
    names = new EndNames(call);
    reasons = MonitorFilter.reasons(call, events.reasons());
    lost = new LostLines(call.err());
  }

  public static CommandSpec<Action> command() {
    return CommandSpec.<Action>command(
            "pcap", "Writes the packets of an endpoint as pcapng, for Wireshark.", PcapCommand::run)
        .details(
            """
            Writes pcapng until interrupted: the packets of an endpoint as the programs see them, dropped \
            ones with the drop reason as a comment. Forwarded packets are captured if endpoint option \
            TraceNotification is Enabled, and all of them if MonitorAggregationLevel is None. Of each \
            packet the first bytes are captured, as many as option --trace-payloadlen of the agent.

            A packet between two endpoints of this node appears once for each interface on which a \
            program saw it. Lost packets are counted on standard error.""")
        .option(
            OptionSpec.value(ENDPOINT, "ID", ValueKind.ENDPOINT, "Id of the endpoint.")
                .withLetter("-e"))
        .option(
            OptionSpec.value(
                    WRITE,
                    "FILE",
                    ValueKind.FILE,
                    "Output file, or - for standard output. Default: -.")
                .withLetter("-w"))
        .option(
            OptionSpec.text(MonitorFilter.REASON, "REASON", "Only packets dropped for this reason.")
                .repeated())
        .option(OptionSpec.text(COUNT, "NUMBER", "Stop after this many packets."))
        .option(OptionSpec.text(DURATION, "TIME", "Stop after this time, such as 10s or 2m."))
        .example("agentctl pcap --endpoint 7 | tshark -r -", "show live packets in tshark")
        .example(
            "agentctl pcap -e 7 --drop-reason policy-denied -w denied.pcapng --duration 1m",
            "capture for a minute what policy denies");
  }

  private static void run(Invocation call) throws Exception {
    final long endpoint = call.number(ENDPOINT, 0);
    if (endpoint <= 0) {
      throw new UsageException(ENDPOINT + ": must be the number of an endpoint");
    }
    final long count = call.number(COUNT, Long.MAX_VALUE);
    if (count <= 0) {
      throw new UsageException(COUNT + ": " + count + " is not a positive number");
    }
    final Duration duration = DurationText.of(DURATION, call.option(DURATION), null);
    final String file = call.option(WRITE) == null ? STANDARD_OUTPUT : call.option(WRITE);
    if (file.equals(STANDARD_OUTPUT) && call.terminal().isInteractive()) {
      throw new UsageException(WRITE + ": standard output is a terminal; name a file");
    }
    final Duration timeout =
        DurationText.of(
            CommonOptions.TIMEOUT, call.option(CommonOptions.TIMEOUT), CommonOptions.READ_TIMEOUT);
    final Path socket = MonitorCommand.socket(call.address());
    final int traces = call.options(MonitorFilter.REASON).isEmpty() ? MonitorStream.TRACES : 0;
    final int mask = MonitorStream.DROPS | MonitorStream.PACKET_BYTES | traces;
    try (MonitorClient events = MonitorClient.open(socket, mask, timeout)) {
      MonitorCommand.checkCaptures(events);
      final PcapCommand command = new PcapCommand(call, events, endpoint);
      command.load();
      try (OutputStream out = open(call, file)) {
        final long written = command.write(out, count, duration);
        if (!file.equals(STANDARD_OUTPUT)) {
          call.err().println(written + " packets written");
        }
      }
    }
  }

  /** Reads what the agent knows of the endpoint; says where its forwarded packets are not seen. */
  private void load() throws IOException {
    final Object found = call.tree(RequestPath.of("endpoint", Long.toString(endpoint)));
    for (final Object each : Tree.list(call.tree(RequestPath.of("endpoint")))) {
      final String index = Tree.text(each, "status", "networking", "interface-index");
      final String name = Tree.text(each, "status", "networking", "interface-name");
      if (index != null && name != null) {
        interfaces.put(Long.parseLong(index), name);
      }
    }
    names.load();
    final Object option = Tree.at(found, "status", "realized", "options", TRACES);
    if (reasons.isEmpty() && !"Enabled".equals(option)) {
      call.err()
          .println(
              "endpoint %d: %s is not Enabled: forwarded packets are not captured"
                  .formatted(endpoint, TRACES));
    }
  }

  /** Opens a file that its owner alone can read, since packets may hold secrets. */
  private static OutputStream open(Invocation call, String file) throws IOException {
    if (file.equals(STANDARD_OUTPUT)) {
      return new FilterOutputStream(call.out()) {
        @Override
        public void write(byte[] bytes, int offset, int length) {
          call.out().write(bytes, offset, length);
        }

        @Override
        public void close() {
          call.out().flush(); // the stream is not this command's
        }
      };
    }
    return Channels.newOutputStream(
        Files.newByteChannel(
            Path.of(file),
            Set.of(
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))));
  }

  /** Returns how many packets were written. */
  private long write(OutputStream out, long count, Duration duration) throws IOException {
    final PcapngWriter writer =
        new PcapngWriter(
            out,
            ClientVersion.text(),
            events.packetBytes(),
            index -> interfaces.getOrDefault(index, "if" + index));
    final long startNs = System.nanoTime();
    long written = 0;
    try {
      while (written < count && !Thread.currentThread().isInterrupted() && isWritable()) {
        final Duration left =
            duration == null ? WAIT : duration.minusNanos(System.nanoTime() - startNs);
        if (left.isNegative() || left.isZero()) {
          break;
        }
        final MonitorEvent event = next(writer, left.compareTo(WAIT) < 0 ? left : WAIT);
        if (event instanceof MonitorEvent.Lost now) {
          lost.tell(now);
        } else if (event instanceof Packet packet && isWanted(packet)) {
          write(writer, packet);
          written++;
        }
      }
    } catch (EOFException ended) {
      writer.flush();
      throw ended;
    }
    writer.flush();
    return written;
  }

  /** Writes what there is before it waits, so that a reader of the file has it at once. */
  private MonitorEvent next(PcapngWriter writer, Duration wait) throws IOException {
    final MonitorEvent event = events.next(Duration.ZERO);
    if (event != null) {
      return event;
    }
    writer.flush();
    return events.next(wait);
  }

  private boolean isWritable() {
    return !call.out().checkError();
  }

  private boolean isWanted(Packet packet) {
    return (packet.endpoint() == endpoint
            || isEndpoint(packet.source())
            || isEndpoint(packet.destination()))
        && (reasons.isEmpty() || reasons.contains(packet.reason()));
  }

  private boolean isEndpoint(End end) {
    final EndNames.Endpoint found = names.endpoint(end.address());
    return found != null && found.id() == endpoint;
  }

  private static void write(PcapngWriter writer, Packet packet) throws IOException {
    writer.packet(
        packet.time(),
        packet.interfaceIndex(),
        packet.bytes(),
        packet.length(),
        packet.kind() == Kind.DROP
            ? "dropped: %s (%s, endpoint %d)"
                .formatted(packet.reason(), packet.direction(), packet.endpoint())
            : null);
  }
}
