package agent.launcher.process;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;

/**
 * The head of an answer of HTTP/1.1.
 *
 * @param text the status line and the fields, with the empty line
 */
record HttpHead(String text) {
  private static final String LENGTH = "content-length:";

  static HttpHead read(InputStream in) throws IOException {
    final StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      final int octet = in.read();
      if (octet < 0) {
        throw new EOFException("the connection ended after '" + head + "'");
      }
      head.append((char) octet);
    }
    return new HttpHead(head.toString());
  }

  int status() {
    return Integer.parseInt(text.substring(9, 12));
  }

  /** Returns the bytes of the body; -1 where no field says it. */
  int length() {
    final String lower = text.toLowerCase(Locale.ROOT);
    final int at = lower.indexOf(LENGTH);
    return at < 0
        ? -1
        : Integer.parseInt(lower.substring(at + LENGTH.length(), lower.indexOf('\r', at)).strip());
  }
}
