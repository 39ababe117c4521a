package agent.server.socket;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Adds a JSON string as body to the error answers of the HTTP parser, which have none and the
 * version of the request, so that all errors have the same form.
 */
final class BodilessRefusal {
  private static final int STATUS_OFFSET = "HTTP/1.1 ".length();
  private static final int LONGEST = 256;
  private static final Pattern ANSWER =
      Pattern.compile(
          "HTTP/[01]\\.[019] 400 ([A-Za-z -]+)\r\n(Connection: close\r\n)?Content-Length: 0\r\n"
              + "(Connection: close\r\n)?\r\n");

  private BodilessRefusal() {}

  /**
   * Returns the answer that replaces an answer of the parser.
   *
   * @param answer the answer of the parser; its position is not changed
   * @return the answer with a body; null where the answer is not an error or has a body
   */
  static ByteBuffer withBody(ByteBuffer answer) {
    if (answer.remaining() > LONGEST || !mayBeRefusal(answer)) {
      return null;
    }
    final Matcher matcher = ANSWER.matcher(StandardCharsets.US_ASCII.decode(answer.duplicate()));
    if (!matcher.matches()) {
      return null;
    }
    final String reason = matcher.group(1);
    final String body =
        reason.equals("Bad Request")
            ? "\"request: its line or its headers are malformed or too large\""
            : "\"Host: " + reason + "\"";
    final String text =
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\n"
            + "Content-Length: "
            + body.length()
            + "\r\n\r\n"
            + body;
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Returns whether it is worth to be decoded: the first digit of its status is that of errors. */
  private static boolean mayBeRefusal(ByteBuffer answer) {
    return answer.remaining() > STATUS_OFFSET
        && answer.get(answer.position() + STATUS_OFFSET) == '4';
  }
}
