package agent.domain.proxy;

import agent.dns.proxy.DnsCounter;
import agent.domain.proxy.ProxyCounts.Connections;
import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Writes and reads what the proxies have counted. */
final class CountsCodec {
  private static final int MOST_REDIRECTS = 1_024;
  private static final PolicyDirection[] DIRECTIONS = PolicyDirection.values();
  private static final RedirectKind[] KINDS = RedirectKind.values();

  private CountsCodec() {}

  static void write(DataOutput out, ProxyCounts report) throws IOException {
    writeCounts(out, report.requests());
    out.writeLong(report.http().open());
    out.writeLong(report.http().refused());
    out.writeLong(report.http().closedIdle());
    out.writeLong(report.http().unloggedRequests());
    writeCounts(out, report.questions());
    Wire.writeAll(
        out,
        report.redirects().entrySet(),
        (to, redirects) -> {
          Wire.writeEnum(to, redirects.getKey());
          Wire.writeAll(to, redirects.getValue(), CountsCodec::write);
        });
  }

  static ProxyCounts read(DataInput in) throws IOException {
    final Map<Verdict, Long> requests = readCounts(in, Verdict.class, Verdict.values());
    final Connections http =
        new Connections(in.readLong(), in.readLong(), in.readLong(), in.readLong());
    final Map<DnsCounter, Long> questions = readCounts(in, DnsCounter.class, DnsCounter.values());
    final Map<RedirectKind, List<RedirectStatistics>> redirects = new EnumMap<>(RedirectKind.class);
    Wire.readAll(
        in,
        KINDS.length,
        from ->
            redirects.put(
                Wire.readEnum(from, KINDS),
                Wire.readAll(from, MOST_REDIRECTS, CountsCodec::readStatistics)));
    return new ProxyCounts(requests, http, questions, redirects);
  }

  private static <E extends Enum<E>> void writeCounts(DataOutput out, Map<E, Long> counts)
      throws IOException {
    Wire.writeAll(
        out,
        counts.entrySet(),
        (to, count) -> {
          Wire.writeEnum(to, count.getKey());
          to.writeLong(count.getValue());
        });
  }

  private static <E extends Enum<E>> Map<E, Long> readCounts(
      DataInput in, Class<E> type, E[] values) throws IOException {
    final Map<E, Long> counts = new EnumMap<>(type);
    Wire.readAll(
        in, values.length, from -> counts.put(Wire.readEnum(from, values), readCount(from)));
    return counts;
  }

  private static Long readCount(DataInput in) throws IOException {
    final long count = in.readLong();
    if (count < 0) {
      throw new IOException("a count of " + count);
    }
    return count;
  }

  private static void write(DataOutput out, RedirectStatistics statistics) throws IOException {
    Wire.writeEnum(out, statistics.direction());
    out.writeShort(statistics.port());
    write(out, statistics.requests());
    write(out, statistics.responses());
  }

  private static RedirectStatistics readStatistics(DataInput in) throws IOException {
    return new RedirectStatistics(
        Wire.readEnum(in, DIRECTIONS), in.readUnsignedShort(), readMessages(in), readMessages(in));
  }

  private static void write(DataOutput out, Messages messages) throws IOException {
    out.writeLong(messages.received());
    out.writeLong(messages.forwarded());
    out.writeLong(messages.denied());
    out.writeLong(messages.error());
  }

  private static Messages readMessages(DataInput in) throws IOException {
    return new Messages(readCount(in), readCount(in), readCount(in), readCount(in));
  }
}
