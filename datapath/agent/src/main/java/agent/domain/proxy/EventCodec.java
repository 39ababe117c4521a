package agent.domain.proxy;

import agent.dns.proxy.DnsObserver;
import agent.l7proxy.RequestRecord;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.time.Instant;

/** Writes and reads what became of requests and questions. */
final class EventCodec {
  private static final RequestRecord.Verdict[] REQUEST_VERDICTS = RequestRecord.Verdict.values();
  private static final DnsObserver.Verdict[] QUESTION_VERDICTS = DnsObserver.Verdict.values();

  private EventCodec() {}

  static void write(DataOutput out, RequestRecord request) throws IOException {
    out.writeLong(request.time().toEpochMilli());
    Wire.writeEnum(out, request.verdict());
    Wire.writeFlow(out, request.flow());
    Wire.writeText(out, request.protocol());
    Wire.writeText(out, request.method());
    Wire.writeText(out, request.path());
    Wire.writeText(out, request.host());
    out.writeInt(request.status());
    out.writeLong(request.durationMs());
    Wire.writeAll(out, request.missingHeaders(), Wire::writeText);
  }

  static RequestRecord readRequest(DataInput in) throws IOException {
    return new RequestRecord(
        Instant.ofEpochMilli(in.readLong()),
        Wire.readEnum(in, REQUEST_VERDICTS),
        Wire.readFlow(in),
        Wire.readText(in),
        Wire.readText(in),
        Wire.readText(in),
        Wire.readText(in),
        in.readInt(),
        in.readLong(),
        Wire.readAll(in, Wire::readText));
  }

  static void write(DataOutput out, DnsObserver.Event question) throws IOException {
    Wire.writeFlow(out, question.flow());
    Wire.writeText(out, question.name());
    out.writeInt(question.type());
    out.writeInt(question.responseCode());
    Wire.writeEnum(out, question.verdict());
    Wire.writeAll(out, question.addresses(), Wire::writeAddress);
    out.writeLong(question.ttlSec());
  }

  static DnsObserver.Event readQuestion(DataInput in) throws IOException {
    return new DnsObserver.Event(
        Wire.readFlow(in),
        Wire.readText(in),
        in.readInt(),
        in.readInt(),
        Wire.readEnum(in, QUESTION_VERDICTS),
        Wire.readAll(in, Wire::readAddress),
        in.readLong());
  }
}
