package agent.l7proxy;

import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;

/** Writes a request as one line of JSON. */
final class RecordText {
  /** RFC 3339 in UTC with milliseconds. */
  private static final DateTimeFormatter TIME =
      new DateTimeFormatterBuilder().appendInstant(3).toFormatter(Locale.ROOT);

  private final StringBuilder text = new StringBuilder(512);
  private final IntFunction<List<String>> labels;

  /**
   * Creates a writer for one thread.
   *
   * @param labels from an identity to its labels
   */
  RecordText(IntFunction<List<String>> labels) {
    this.labels = labels;
  }

  /**
   * Opens the access log.
   *
   * @throws IOException where it cannot be opened
   */
  static LogFile<RequestRecord> open(Path file, IntFunction<List<String>> labels)
      throws IOException {
    return LogFile.open("access log", file, new RecordText(labels)::line);
  }

  /** Returns the line with its end; valid until the next one is written. */
  StringBuilder line(RequestRecord request) {
    text.setLength(0);
    text.append('{');
    string("time", TIME.format(request.time()));
    string("verdict", request.verdict().text());
    string("direction", request.isEgress() ? "egress" : "ingress");
    final var flow = request.flow();
    end("source", flow.client(), flow.clientPort(), flow.clientIdentity());
    end("destination", flow.server(), flow.serverPort(), flow.serverIdentity());
    string("protocol", request.protocol());
    string("method", request.method());
    string("path", request.path());
    string("host", request.host());
    number("status", request.status());
    number("durationMs", request.durationMs());
    if (!request.missingHeaders().isEmpty()) {
      strings("missingHeaders", request.missingHeaders());
    }
    return text.append("}\n");
  }

  private void end(String name, IpAddress address, int port, int identity) {
    name(name);
    text.append('{');
    string("ip", address.toString());
    number("port", port);
    number("identity", identity);
    final List<String> all = labels.apply(identity);
    if (!all.isEmpty()) {
      strings("labels", all);
    }
    text.append('}');
  }

  private void strings(String name, List<String> values) {
    name(name);
    text.append('[');
    for (int i = 0; i < values.size(); i++) {
      if (i > 0) {
        text.append(',');
      }
      quote(values.get(i));
    }
    text.append(']');
  }

  private void string(String name, String value) {
    name(name);
    quote(value);
  }

  private void number(String name, long value) {
    name(name);
    text.append(value);
  }

  private void name(String name) {
    if (text.charAt(text.length() - 1) != '{') {
      text.append(',');
    }
    quote(name);
    text.append(':');
  }

  /** Strings of any characters: what is not printable ASCII is escaped (RFC 8259 section 7). */
  private void quote(String value) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      final char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        text.append('\\').append(c);
      } else if (c >= ' ' && c < 0x7f) {
        text.append(c);
      } else {
        text.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) {
          text.append(Character.forDigit(c >> shift & 15, 16));
        }
      }
    }
    text.append('"');
  }
}
