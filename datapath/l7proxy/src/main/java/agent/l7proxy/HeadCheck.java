package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Holds the bytes of a request's head against the grammar of RFC 9112 before Netty reads it, which
 * accepts more: other line ends, folded lines, spaces before colons. Servers that read such a head
 * in another way would see another request than the one that was judged.
 */
final class HeadCheck {
  private static final boolean[] TOKEN = new boolean[256];
  private static final String VERSION = "HTTP/1.";
  private static final String NO_REQUEST_LINE = "malformed request line";

  static {
    "!#$%&'*+-.^_`|~0123456789".chars().forEach(c -> TOKEN[c] = true);
    Arrays.fill(TOKEN, 'a', 'z' + 1, true);
    Arrays.fill(TOKEN, 'A', 'Z' + 1, true);
  }

  private HeadCheck() {}

  /** Returns whether a byte, which is not negative, is one of a token. */
  static boolean isToken(int c) {
    return TOKEN[c];
  }

  /** Returns whether these characters are a token, such as a method or the name of a field. */
  static boolean isToken(CharSequence text) {
    for (int i = 0; i < text.length(); i++) {
      final char c = text.charAt(i);
      if (c >= TOKEN.length || !TOKEN[c]) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  /**
   * Checks one line.
   *
   * @param from the index of its first byte
   * @param end the index of its line feed
   * @param isFirst whether it is the request line
   * @return what is wrong with it; null: nothing
   */
  static String problem(ByteBuf bytes, int from, int end, boolean isFirst) {
    if (end == from || bytes.getByte(end - 1) != '\r') {
      return "a line does not end with CR LF";
    }
    return isFirst ? requestLine(bytes, from, end - 1) : field(bytes, from, end - 1);
  }

  private static String requestLine(ByteBuf bytes, int from, int end) {
    final int first = bytes.indexOf(from, end, (byte) ' ');
    if (first <= from) {
      return NO_REQUEST_LINE;
    }
    final int second = bytes.indexOf(first + 1, end, (byte) ' ');
    if (second <= first + 1) {
      return NO_REQUEST_LINE;
    }
    for (int i = from; i < first; i++) {
      if (!TOKEN[bytes.getUnsignedByte(i)]) {
        return "invalid character in the method";
      }
    }
    for (int i = first + 1; i < second; i++) {
      final int c = bytes.getUnsignedByte(i);
      if (c <= ' ' || c >= 0x7f) {
        return "invalid character in the target";
      }
    }
    return isVersion(bytes, second + 1, end) ? null : "the version is not HTTP/1.0 or HTTP/1.1";
  }

  private static boolean isVersion(ByteBuf bytes, int from, int end) {
    if (end - from != VERSION.length() + 1) {
      return false;
    }
    for (int i = 0; i < VERSION.length(); i++) {
      if (bytes.getByte(from + i) != VERSION.charAt(i)) {
        return false;
      }
    }
    final byte minor = bytes.getByte(end - 1);
    return minor == '0' || minor == '1';
  }

  private static String field(ByteBuf bytes, int from, int end) {
    int i = from;
    while (TOKEN[bytes.getUnsignedByte(i)]) { // a CR follows, which is in no token
      i++;
    }
    if (i == from || bytes.getByte(i) != ':') {
      return "header field without a name before the colon";
    }
    for (; i < end; i++) {
      final int c = bytes.getUnsignedByte(i);
      if (c < ' ' && c != '\t' || c == 0x7f) {
        return "invalid character in a header field";
      }
    }
    return null;
  }
}
