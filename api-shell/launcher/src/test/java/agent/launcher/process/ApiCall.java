package agent.launcher.process;

import agent.testkit.api.DocumentedAnswers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * One HTTP call over a Unix socket, by hand: what any client of the contract could send. Each
 * answer must be as the OpenAPI document says.
 */
final class ApiCall {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Pattern CONTENT_LENGTH = Pattern.compile("(?mi)^Content-Length: *(\\d+)");
  private static final Pattern CONTENT_TYPE = Pattern.compile("(?mi)^Content-Type: *([^\\r]*)");

  private ApiCall() {}

  /**
   * An answer.
   *
   * @param status the status code
   * @param text the body
   */
  record Answer(int status, String text) {
    JsonNode json() {
      return JSON.readTree(text);
    }
  }

  static Answer call(Path socket, String method, String path, String body) throws IOException {
    final byte[] content = body == null ? new byte[0] : body.getBytes(StandardCharsets.UTF_8);
    final String head =
        method
            + " "
            + path
            + " HTTP/1.0\r\nHost: localhost\r\n"
            + (body == null
                ? ""
                : "Content-Type: application/json\r\nContent-Length: " + content.length + "\r\n")
            + "\r\n";
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      final ByteBuffer request = ByteBuffer.allocate(head.length() + content.length);
      write(channel, request.put(head.getBytes(StandardCharsets.US_ASCII)).put(content).flip());
      return parse(method, path, readAll(channel));
    }
  }

  private static void write(SocketChannel channel, ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
  }

  private static String readAll(SocketChannel channel) throws IOException {
    final ByteArrayOutputStream all = new ByteArrayOutputStream();
    final ByteBuffer buffer = ByteBuffer.allocate(65536);
    while (channel.read(buffer.clear()) >= 0) {
      all.write(buffer.array(), 0, buffer.position());
    }
    return all.toString(StandardCharsets.UTF_8);
  }

  private static Answer parse(String method, String path, String answer) throws IOException {
    final int end = answer.indexOf("\r\n\r\n");
    if (end < 0 || !answer.startsWith("HTTP/1.")) {
      throw new IOException("no HTTP answer: '" + answer + "'");
    }
    final int status = Integer.parseInt(answer.substring(9, 12));
    final String body = answer.substring(end + 4);
    checkLength(answer.substring(0, end + 2), body);
    final Matcher contentType = CONTENT_TYPE.matcher(answer.substring(0, end + 2));
    DocumentedAnswers.check(
        method, path, status, contentType.find() ? contentType.group(1) : null, body);
    return new Answer(status, body);
  }

  /** An agent that is killed while it answers has not answered. */
  private static void checkLength(String head, String body) throws IOException {
    final Matcher length = CONTENT_LENGTH.matcher(head);
    if (length.find()
        && Integer.parseInt(length.group(1)) != body.getBytes(StandardCharsets.UTF_8).length) {
      throw new IOException("the answer was truncated: '" + head + body + "'");
    }
  }
}
