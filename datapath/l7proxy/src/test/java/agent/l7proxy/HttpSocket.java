package agent.l7proxy;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Writes and reads the bytes of HTTP/1 messages over a socket, at either end. */
final class HttpSocket implements AutoCloseable {
  /** A message: its first line, its fields as they came, and its body without the framing. */
  record Message(String start, List<String> fields, byte[] body, List<String> trailers) {
    int status() {
      return Integer.parseInt(start.split(" ")[1]);
    }

    String text() {
      return new String(body, StandardCharsets.ISO_8859_1);
    }

    /** Returns the value of a field; null: there is none. */
    String field(String name) {
      return fields.stream()
          .filter(field -> field.regionMatches(true, 0, name + ":", 0, name.length() + 1))
          .map(field -> field.substring(name.length() + 1).strip())
          .reduce((one, other) -> one + ", " + other)
          .orElse(null);
    }
  }

  final Socket socket;
  private final InputStream in;
  private final OutputStream out;

  HttpSocket(Socket socket) throws IOException {
    this.socket = socket;
    socket.setSoTimeout(20_000);
    socket.setTcpNoDelay(true);
    in = new BufferedInputStream(socket.getInputStream());
    out = socket.getOutputStream();
  }

  HttpSocket send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  HttpSocket send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
    return this;
  }

  Message get(String path) throws IOException {
    return send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n").response();
  }

  /** Reads a response to a request other than HEAD. */
  Message response() throws IOException {
    return read(false, true);
  }

  /** Reads a response without a body. */
  Message headOnly() throws IOException {
    return read(true, true);
  }

  /** Reads a request; null: the connection has ended. */
  Message request() throws IOException {
    return read(false, false);
  }

  /** Reads the first line and the fields of a message alone; null: the connection has ended. */
  Message head() throws IOException {
    return read(true, false);
  }

  private Message read(boolean isWithoutBody, boolean isResponse) throws IOException {
    final String start = line();
    if (start == null) {
      if (isResponse) {
        throw new IOException("the connection has ended before a response");
      }
      return null;
    }
    final List<String> fields = fields();
    final Message head = new Message(start, fields, new byte[0], List.of());
    final String coding = head.field("transfer-encoding");
    final String length = head.field("content-length");
    if (isWithoutBody || isResponse && head.status() / 100 == 1) {
      return head;
    }
    if ("chunked".equals(coding)) {
      final ByteArrayOutputStream body = new ByteArrayOutputStream();
      for (int size = chunkSize(); size > 0; size = chunkSize()) {
        body.write(exactly(size));
        line();
      }
      return new Message(start, fields, body.toByteArray(), fields());
    }
    if (length != null) {
      return new Message(start, fields, exactly(Integer.parseInt(length)), List.of());
    }
    return isResponse && head.status() != 204 && head.status() != 304
        ? new Message(start, fields, in.readAllBytes(), List.of())
        : head;
  }

  private int chunkSize() throws IOException {
    return Integer.parseInt(line(), 16);
  }

  private List<String> fields() throws IOException {
    final List<String> fields = new ArrayList<>();
    for (String field = line(); field != null && !field.isEmpty(); field = line()) {
      fields.add(field);
    }
    return fields;
  }

  byte[] exactly(int length) throws IOException {
    final byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new IOException(
          "the connection has ended after %d of %d bytes".formatted(bytes.length, length));
    }
    return bytes;
  }

  /** Reads a line without its end; null: the connection has ended. */
  String line() throws IOException {
    final ByteArrayOutputStream line = new ByteArrayOutputStream();
    while (true) {
      final int next = in.read();
      if (next < 0) {
        return line.size() == 0 ? null : line.toString(StandardCharsets.ISO_8859_1);
      }
      if (next == '\n') {
        final String text = line.toString(StandardCharsets.ISO_8859_1);
        return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
      }
      line.write(next);
    }
  }

  /** Returns whether the other end has closed, in order or by a reset. */
  boolean isEnded() throws IOException {
    try {
      return in.read() < 0;
    } catch (java.net.SocketException e) {
      return true;
    }
  }

  InputStream in() {
    return in;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
