package agent.l7proxy;

import agent.policy.request.NormalTarget;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The normal form of a request's path (RFC 3986 section 6.2.2): unreserved characters are not
 * encoded, encodings are in upper case, and there are no dot segments. Rules see this form, and the
 * server gets it. What servers are known to read in different ways is refused. With {@link
 * EscapedSlashes#KEEP} escaped slashes stay as they came, in the case of their digits. {@link
 * NormalTarget} is the same form as an automaton.
 */
final class NormalPath {
  private static final String HEX = "0123456789ABCDEF";

  /** Escapes that some servers decode to separators before they remove dot segments. */
  private static final Pattern ESCAPED_SLASH = Pattern.compile("%2[Ff]|%5[Cc]");

  private NormalPath() {}

  /**
   * Returns the normal form; a query stays as it is.
   *
   * @param target path and query
   */
  static String of(String target, EscapedSlashes slashes) throws BadRequestException {
    if (target.isEmpty() || target.charAt(0) != '/') {
      throw new BadRequestException("the path does not start with /");
    }
    final int mark = target.indexOf('?');
    final int end = mark < 0 ? target.length() : mark;
    boolean isSimple = true;
    for (int i = 0; i < target.length(); i++) {
      final char c = target.charAt(i);
      if (c <= ' ' || c >= 0x7f || c == '#' || c == '\\' && i < end) {
        throw new BadRequestException("invalid character in the path");
      }
      isSimple &= i >= end || c != '%' && c != ';' && (c != '.' || target.charAt(i - 1) != '/');
    }
    if (isSimple) {
      return target;
    }
    return withoutDots(decoded(target, end, slashes)) + target.substring(end);
  }

  private static String decoded(String target, int end, EscapedSlashes slashes)
      throws BadRequestException {
    final StringBuilder path = new StringBuilder(end);
    for (int i = 0; i < end; i++) {
      final char c = target.charAt(i);
      if (c != '%') {
        path.append(c);
        continue;
      }
      final int value = i + 2 < end ? hex(target, i + 1) : -1;
      if (value < 0) {
        throw new BadRequestException("incomplete percent-encoding in the path");
      }
      final boolean isSlash = value == '/' || value == '\\';
      if (value == 0 || isSlash && slashes == EscapedSlashes.REJECT) {
        throw new BadRequestException("the path encodes a NUL, a slash or a backslash");
      }
      if (isSlash) {
        path.append(target, i, i + 3);
      } else if (NormalTarget.isUnreserved(value)) {
        path.append((char) value);
      } else {
        path.append('%').append(HEX.charAt(value >> 4)).append(HEX.charAt(value & 15));
      }
      i += 2;
    }
    return path.toString();
  }

  private static int hex(String text, int index) {
    final int high = Character.digit(text.charAt(index), 16);
    final int low = Character.digit(text.charAt(index + 1), 16);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
  }

  private static String withoutDots(String path) throws BadRequestException {
    final List<String> kept = new ArrayList<>();
    final String[] segments = path.substring(1).split("/", -1);
    for (int i = 0; i < segments.length; i++) {
      final String segment = segments[i];
      final boolean isLast = i == segments.length - 1;
      if (isDots(segment)) {
        if (segment.length() == 2 && !kept.isEmpty()) {
          kept.removeLast();
        }
        if (isLast) {
          kept.add("");
        }
        continue;
      }
      checkNoHiddenDots(segment);
      kept.add(segment);
    }
    return "/" + String.join("/", kept);
  }

  /** Refuses what is a dot segment for a server that drops parameters or decodes slashes first. */
  private static void checkNoHiddenDots(String segment) throws BadRequestException {
    final String[] parts = ESCAPED_SLASH.split(segment, -1);
    for (final String part : parts) {
      final int parameters = part.indexOf(';');
      if (parameters > 0 && isDots(part.substring(0, parameters))) {
        throw new BadRequestException("dot segment with parameters in the path");
      }
      if (parts.length > 1 && isDots(part)) {
        throw new BadRequestException("dot segment next to an encoded slash in the path");
      }
    }
  }

  private static boolean isDots(String segment) {
    return segment.equals(".") || segment.equals("..");
  }
}
