package agent.server;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The segments of the path and the query parameters of a request. Each is decoded once and by
 * itself, so that an encoded slash never becomes a separator.
 *
 * @param segments path segments; a trailing slash gives an empty last one
 * @param query query parameters in their order, each with its values
 */
record RequestTarget(List<String> segments, Map<String, List<String>> query) {

  /**
   * Reads a request target in origin or absolute form (RFC 9112 section 3.2).
   *
   * @param target target as sent, without the query
   * @param queryText query as sent, without the question mark
   * @throws HttpRefusal 400 for a malformed escape or a character that is not allowed in names
   */
  static RequestTarget parse(String target, String queryText) {
    final String path = withoutAuthority(target);
    if (!path.startsWith("/")) {
      throw HttpRefusal.badRequest("path", "does not start with '/'");
    }
    final List<String> segments = new ArrayList<>();
    for (final String segment : path.substring(1).split("/", -1)) {
      segments.add(decode("path", segment, false));
    }
    return new RequestTarget(segments, parseQuery(queryText));
  }

  private static String withoutAuthority(String target) {
    final int scheme = target.indexOf("://");
    if (target.startsWith("/") || scheme <= 0) {
      return target;
    }
    final int slash = target.indexOf('/', scheme + 3);
    return slash < 0 ? "/" : target.substring(slash);
  }

  private static Map<String, List<String>> parseQuery(String text) {
    final Map<String, List<String>> query = new LinkedHashMap<>();
    if (text == null || text.isEmpty()) {
      return query;
    }
    for (final String pair : text.split("&")) {
      if (!pair.isEmpty()) {
        final int equals = pair.indexOf('=');
        final String name = decode("query", equals < 0 ? pair : pair.substring(0, equals), true);
        final String value = equals < 0 ? "" : decode(name, pair.substring(equals + 1), true);
        query.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
      }
    }
    return query;
  }

  private static String decode(String field, String text, boolean plusIsSpace) {
    final byte[] bytes = new byte[text.length() * 3];
    int length = 0;
    for (int i = 0; i < text.length(); i++) {
      final char c = text.charAt(i);
      if (c == '%') {
        final int high = i + 2 < text.length() ? Character.digit(text.charAt(i + 1), 16) : -1;
        final int low = high < 0 ? -1 : Character.digit(text.charAt(i + 2), 16);
        if (low < 0) {
          throw HttpRefusal.badRequest(field, "malformed percent escape in '" + text + "'");
        }
        bytes[length++] = (byte) (high << 4 | low);
        i += 2;
      } else if (c == '+' && plusIsSpace) {
        bytes[length++] = ' ';
      } else if (c < 0x80) {
        bytes[length++] = (byte) c;
      } else {
        throw HttpRefusal.badRequest(field, "a character is not percent-encoded");
      }
    }
    return checked(field, bytes, length);
  }

  private static String checked(String field, byte[] bytes, int length) {
    for (int i = 0; i < length; i++) {
      if (bytes[i] >= 0 && bytes[i] < 0x20 || bytes[i] == 0x7f) {
        throw HttpRefusal.badRequest(field, "contains a control character");
      }
      if (bytes[i] == '/' && field.equals("path")) {
        throw HttpRefusal.badRequest(field, "a path segment contains '/'");
      }
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes, 0, length))
          .toString();
    } catch (CharacterCodingException e) {
      throw HttpRefusal.badRequest(field, "is not UTF-8");
    }
  }
}
