package agent.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The part of HTTP/1.1 (RFC 9112) that the API needs, over a Unix socket, which the JDK's client
 * does not support. One call at a time; the connection is reused where the answer was read whole.
 */
final class HttpCaller implements AutoCloseable {
  private static final int MAX_LINE_BYTES = 64 * 1024;
  private static final int MAX_HEADERS = 256;
  private static final int CONTINUE = 100;
  private static final int FIRST_FINAL = 200;
  private static final int NO_CONTENT = 204;

  private final Path socketPath;
  private final Duration timeout;
  private UnixHttpConnection connection;
  private boolean isKeptAlive;
  private AnswerBody lastBody;

  /**
   * An answer.
   *
   * @param status HTTP status code
   * @param headers headers by their names in lower case
   * @param body the body; it is valid until the next call
   */
  record HttpAnswer(int status, Map<String, String> headers, InputStream body) {}

  HttpCaller(Path socketPath, Duration timeout) {
    this.socketPath = socketPath;
    this.timeout = timeout;
  }

  HttpAnswer call(String method, RequestPath path, Map<String, String> headers, byte[] body)
      throws IOException {
    final byte[] head = head(method, path, headers, body);
    if (method.equals("GET") && isReusable()) {
      try {
        return exchange(head, body);
      } catch (IOException e) {
        // The agent may have closed the connection meanwhile; a GET may be repeated.
        isKeptAlive = false;
      }
    }
    close();
    connect();
    return exchange(head, body);
  }

  private boolean isReusable() {
    return connection != null && isKeptAlive && (lastBody == null || lastBody.isComplete());
  }

  private void connect() throws IOException {
    try {
      connection = UnixHttpConnection.open(socketPath, timeout);
    } catch (ConnectException e) {
      throw new IOException("no agent listens on " + socketPath + ": " + e.getMessage(), e);
    } catch (IOException e) {
      throw new IOException("cannot reach the agent on " + socketPath + ": " + e.getMessage(), e);
    }
  }

  private static byte[] head(
      String method, RequestPath path, Map<String, String> headers, byte[] body) {
    final StringBuilder head = new StringBuilder(256);
    head.append(method).append(' ').append(path).append(" HTTP/1.1\r\nHost: localhost\r\n");
    headers.forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
    if (body != null) {
      head.append("Content-Type: application/json\r\nContent-Length: " + body.length + "\r\n");
    }
    return head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  private HttpAnswer exchange(byte[] head, byte[] body) throws IOException {
    IOException notSent = null;
    try {
      connection.write(ByteBuffer.wrap(head));
      if (body != null) {
        connection.write(ByteBuffer.wrap(body));
      }
    } catch (IOException e) {
      // The agent may refuse a body before it has read it: its answer explains more than this
      // error.
      notSent = e;
    }
    try {
      return readAnswer();
    } catch (IOException e) {
      if (notSent != null) {
        e.addSuppressed(notSent);
      }
      throw e;
    }
  }

  private HttpAnswer readAnswer() throws IOException {
    int status = readStatus();
    Map<String, String> headers = readHeaders();
    while (status >= CONTINUE && status < FIRST_FINAL) {
      status = readStatus();
      headers = readHeaders();
    }
    lastBody = null;
    isKeptAlive = !"close".equalsIgnoreCase(headers.get("connection"));
    return new HttpAnswer(status, headers, body(status, headers));
  }

  private InputStream body(int status, Map<String, String> headers) throws IOException {
    final String encoding = headers.get("transfer-encoding");
    final String length = headers.get("content-length");
    if (status == NO_CONTENT) {
      return InputStream.nullInputStream();
    }
    if (encoding != null && encoding.toLowerCase(Locale.ROOT).endsWith("chunked")) {
      lastBody = AnswerBody.chunked(connection);
      return lastBody;
    }
    if (length == null) {
      isKeptAlive = false;
      return connection.untilClose();
    }
    if (!length.matches("[0-9]{1,18}")) {
      throw new IOException("malformed Content-Length '" + length + "'");
    }
    lastBody = AnswerBody.ofLength(connection, Long.parseLong(length));
    return lastBody;
  }

  private int readStatus() throws IOException {
    final String line = connection.readLine(MAX_LINE_BYTES);
    if (!line.matches("HTTP/1\\.[01] [1-5][0-9][0-9]( .*)?")) {
      throw new IOException("not an HTTP answer: '" + line + "'");
    }
    return Integer.parseInt(line.substring(9, 12));
  }

  private Map<String, String> readHeaders() throws IOException {
    final Map<String, String> headers = new TreeMap<>();
    for (String line = connection.readLine(MAX_LINE_BYTES);
        !line.isEmpty();
        line = connection.readLine(MAX_LINE_BYTES)) {
      final int colon = line.indexOf(':');
      if (colon <= 0 || headers.size() >= MAX_HEADERS) {
        throw new IOException("malformed header '" + line + "'");
      }
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
    }
    return headers;
  }

  @Override
  public void close() throws IOException {
    if (connection != null) {
      connection.close();
      connection = null;
      lastBody = null;
    }
  }
}
