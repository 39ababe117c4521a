package agent.policy.rule;

import agent.types.Refusal;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A pattern of DNS names: {@code *} stands for any number of the characters of one label (letters,
 * digits, {@code -} and {@code _}) and does not match a dot; alone it matches every name. {@code
 * **.} at the beginning stands for one or more whole labels. Without a {@code *} it is one name.
 * Case is folded, and names are written with the dot of the root at the end.
 */
public final class NamePattern {
  private static final String EVERY = "*";
  private static final String LABELS = "**.";
  private static final int LONGEST_NAME = 253;
  private static final int LONGEST_LABEL = 63;
  private static final Pattern NAME = Pattern.compile("[-a-z0-9_]+(\\.[-a-z0-9_]+)*");
  private static final Pattern PATTERN = Pattern.compile("[-a-z0-9_*]+(\\.[-a-z0-9_*]+)*");

  /** The pattern that every name matches. */
  public static final NamePattern ALL = new NamePattern(EVERY);

  private final String text;

  private NamePattern(String text) {
    this.text = text;
  }

  /**
   * Reads a pattern.
   *
   * @param field the field that holds it
   * @param text the pattern, with or without a dot at the end
   * @return the pattern
   * @throws Refusal INVALID
   */
  public static NamePattern parse(String field, String text) {
    return text.equals(EVERY)
        ? ALL
        : new NamePattern(canonical(field, text, PATTERN, "pattern of DNS names"));
  }

  /**
   * Reads a name.
   *
   * @param field the field that holds it
   * @param text the name, with or without a dot at the end
   * @return the name in lower case, with a dot at the end
   * @throws Refusal INVALID
   */
  public static String name(String field, String text) {
    return canonical(field, text, NAME, "DNS name");
  }

  /** Returns the pattern that matches one name alone. */
  public static NamePattern ofName(String field, String text) {
    return new NamePattern(name(field, text));
  }

  private static String canonical(String field, String text, Pattern form, String what) {
    final String lower = text.toLowerCase(Locale.ROOT);
    final String body = lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
    if (body.length() > LONGEST_NAME
        || !form.matcher(body).matches()
        || Stream.of(body.split("\\.")).anyMatch(label -> label.length() > LONGEST_LABEL)) {
      final String shown = text.length() > LONGEST_NAME ? text.substring(0, 64) + "..." : text;
      throw Refusal.invalid(field, "'" + shown + "' is not a " + what);
    }
    return body + ".";
  }

  /** Returns whether it is one name. */
  public boolean isName() {
    return text.indexOf('*') < 0;
  }

  /** Returns whether every name matches. */
  public boolean isEvery() {
    return text.equals(EVERY);
  }

  /**
   * Returns whether a name matches.
   *
   * @param name as {@link #name} returns it
   */
  public boolean matches(String name) {
    return isEvery() || matches(name, name.length() - 1);
  }

  /**
   * Returns whether a name matches.
   *
   * @param name in lower case, without a dot at its end
   */
  public boolean matchesWithoutDot(String name) {
    return isEvery() || matches(name, name.length());
  }

  private boolean matches(String name, int length) {
    if (!text.startsWith(LABELS)) {
      return matches(0, name, 0, length);
    }
    for (int i = 0; i < length; i++) {
      if (name.charAt(i) == '.') {
        if (i > 0 && name.charAt(i - 1) != '.' && matches(LABELS.length(), name, i + 1, length)) {
          return true;
        }
      } else if (!isOfLabel(name.charAt(i))) {
        return false;
      }
    }
    return false;
  }

  /** Where a character does not match, the last star takes one more: no other is tried again. */
  private boolean matches(int start, String name, int from, int length) {
    final int end = text.length() - 1; // the dot of the root
    int at = start;
    int star = -1;
    int afterStar = 0;
    for (int i = from; i < length; ) {
      final char c = at < end ? text.charAt(at) : 0;
      if (c == '*') {
        star = at++;
        afterStar = i;
      } else if (at < end && c == name.charAt(i)) {
        star = c == '.' ? -1 : star;
        at++;
        i++;
      } else if (star >= 0 && isOfLabel(name.charAt(afterStar))) {
        at = star + 1;
        i = ++afterStar;
      } else {
        return false;
      }
    }
    while (at < end && text.charAt(at) == '*') {
      at++;
    }
    return at == end;
  }

  private static boolean isOfLabel(char c) {
    return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_';
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NamePattern that && text.equals(that.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  /** Returns the name or the pattern, in lower case, with a dot at the end. */
  @Override
  public String toString() {
    return text;
  }
}
