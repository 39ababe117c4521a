package agent.testkit.api;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A request or an answer in HTTP/1.1, whole, as it was sent.
 *
 * @param startLine first line
 * @param headers headers by their names in lower case
 * @param sent all bytes
 * @param content the body without the marks of its chunks
 */
record HttpMessage(
    String startLine, Map<String, String> headers, byte[] sent, ByteArrayOutputStream content) {

  /** Reads a message, or returns null where the connection ends before it. */
  static HttpMessage read(InputStream from, boolean isAnswer) throws IOException {
    final ByteArrayOutputStream sent = new ByteArrayOutputStream();
    final String startLine = readLine(from, sent);
    if (startLine == null) {
      return null;
    }
    final Map<String, String> headers = new TreeMap<>();
    for (String line = header(from, sent); !line.isEmpty(); line = header(from, sent)) {
      final String[] parts = line.split(":", 2);
      headers.put(parts[0].strip().toLowerCase(Locale.ROOT), parts[1].strip());
    }
    final ByteArrayOutputStream content = new ByteArrayOutputStream();
    if (headers.getOrDefault("transfer-encoding", "").equalsIgnoreCase("chunked")) {
      readChunks(from, sent, content);
    } else if (headers.containsKey("content-length")) {
      copy(from, Long.parseLong(headers.get("content-length")), sent, content);
    } else if (isAnswer) {
      final byte[] rest = from.readAllBytes();
      sent.write(rest);
      content.write(rest);
    }
    return new HttpMessage(startLine, headers, sent.toByteArray(), content);
  }

  private static void readChunks(
      InputStream from, ByteArrayOutputStream sent, ByteArrayOutputStream content)
      throws IOException {
    long size = -1;
    while (size != 0) {
      size = Long.parseLong(header(from, sent).split(";", 2)[0].strip(), 16);
      copy(from, size, sent, content);
      if (size > 0) {
        header(from, sent);
      }
    }
    while (!header(from, sent).isEmpty()) {
      continue; // trailers
    }
  }

  private static void copy(
      InputStream from, long length, ByteArrayOutputStream sent, ByteArrayOutputStream content)
      throws IOException {
    final byte[] part = from.readNBytes(Math.toIntExact(length));
    if (part.length < length) {
      throw new EOFException("the body broke off");
    }
    sent.write(part);
    content.write(part);
  }

  private static String header(InputStream from, OutputStream sent) throws IOException {
    final String line = readLine(from, sent);
    if (line == null) {
      throw new EOFException("the head broke off");
    }
    return line;
  }

  private static String readLine(InputStream from, OutputStream sent) throws IOException {
    final StringBuilder line = new StringBuilder();
    for (int c = from.read(); c != '\n'; c = from.read()) {
      if (c < 0) {
        return null;
      }
      sent.write(c);
      line.append((char) c);
    }
    sent.write('\n');
    return line.toString().strip();
  }

  String body() {
    return content.toString(StandardCharsets.UTF_8);
  }
}
