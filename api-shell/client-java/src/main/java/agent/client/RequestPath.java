package agent.client;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** The path and query of a call; only this class percent-encodes values. */
public final class RequestPath {
  private static final String PLAIN =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";

  private final StringBuilder text = new StringBuilder();
  private boolean hasQuery;

  private RequestPath() {}

  /** Returns the path of these segments. */
  public static RequestPath of(String... segments) {
    final RequestPath path = new RequestPath();
    for (final String segment : segments) {
      path.text.append('/');
      path.append(segment);
    }
    return path;
  }

  /** Adds a query parameter, unless its value is null. */
  public RequestPath query(String name, String value) {
    if (value != null) {
      text.append(hasQuery ? '&' : '?');
      hasQuery = true;
      append(name);
      text.append('=');
      append(value);
    }
    return this;
  }

  /** Adds a query parameter once for each value. */
  public RequestPath queryEach(String name, List<String> values) {
    values.forEach(value -> query(name, value));
    return this;
  }

  private void append(String raw) {
    for (final byte b : raw.getBytes(StandardCharsets.UTF_8)) {
      if (PLAIN.indexOf(b) >= 0) {
        text.append((char) b);
      } else {
        text.append('%');
        text.append(Character.toUpperCase(Character.forDigit(b >> 4 & 0xf, 16)));
        text.append(Character.toUpperCase(Character.forDigit(b & 0xf, 16)));
      }
    }
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
