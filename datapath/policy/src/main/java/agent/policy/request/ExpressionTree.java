package agent.policy.request;

import com.google.re2j.Pattern;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The structure of a valid expression: what follows what, alternatives and repetitions. What one
 * character of it stands for is asked of re2j, for the characters of ASCII.
 */
final class ExpressionTree {
  static final int CHARACTERS = 128;
  private static final int MOST_SETS = 64;
  private static final int UNLIMITED = -1;

  private final String text;
  private final Map<String, Chars> sets = new HashMap<>();
  private int at;
  private boolean foldsCase;
  private boolean isDotAll = true;
  private boolean isMultiLine;

  /** A part of an expression. */
  sealed interface Node permits Chars, Assertion, Sequence, Choice, Repeat {}

  /** One character of a set; bits of the first and of the second 64 characters. */
  record Chars(long low, long high) implements Node {
    boolean contains(int c) {
      return ((c < Long.SIZE ? low : high) >>> c & 1) != 0;
    }
  }

  /** A condition on the characters before and after a place. */
  enum Assertion implements Node {
    BEGIN_TEXT,
    END_TEXT,
    BEGIN_LINE,
    END_LINE,
    WORD_BOUNDARY,
    NO_WORD_BOUNDARY
  }

  record Sequence(List<Node> parts) implements Node {}

  record Choice(List<Node> parts) implements Node {}

  /** A repetition; a negative maximum is none. */
  record Repeat(Node part, int least, int most) implements Node {}

  private ExpressionTree(String text, boolean foldsCase) {
    this.text = text;
    this.foldsCase = foldsCase;
  }

  /**
   * Reads an expression that re2j has read.
   *
   * @return its structure; null where it has more different sets of characters than are asked for
   */
  static Node of(String text, boolean foldsCase) {
    final ExpressionTree tree = new ExpressionTree(text, foldsCase);
    final Node all = tree.choice();
    return tree.at == text.length() && tree.sets.size() <= MOST_SETS ? all : null;
  }

  private boolean isAt(String start) {
    return text.startsWith(start, at);
  }

  /** Flags that a group sets end with it. */
  private Node choice() {
    final boolean foldsOutside = foldsCase;
    final boolean isDotAllOutside = isDotAll;
    final boolean isMultiLineOutside = isMultiLine;
    final List<Node> choices = new ArrayList<>();
    choices.add(sequence());
    while (isAt("|")) {
      at++;
      choices.add(sequence());
    }
    foldsCase = foldsOutside;
    isDotAll = isDotAllOutside;
    isMultiLine = isMultiLineOutside;
    return choices.size() == 1 ? choices.getFirst() : new Choice(choices);
  }

  private Node sequence() {
    final List<Node> parts = new ArrayList<>();
    while (at < text.length() && !isAt("|") && !isAt(")") && sets.size() <= MOST_SETS) {
      if (isAt("\\Q")) {
        quoted(parts);
        continue;
      }
      if (!parts.isEmpty() && repeat(parts)) {
        continue;
      }
      final Node part = isAt("(") ? group() : atom();
      if (part != null) {
        parts.add(part);
      }
    }
    return parts.size() == 1 ? parts.getFirst() : new Sequence(parts);
  }

  /** Between these every character stands for itself. */
  private void quoted(List<Node> parts) {
    final int end = text.indexOf("\\E", at + 2);
    final int to = end < 0 ? text.length() : end;
    for (at += 2; at < to; ) {
      final int c = text.codePointAt(at);
      parts.add(set("\\Q" + Character.toString(c) + "\\E"));
      at += Character.charCount(c);
    }
    at = end < 0 ? to : end + 2;
  }

  /** Returns null for a group that only sets flags. */
  private Node group() {
    at++;
    if (isAt("?P<") || isAt("?<")) {
      at = text.indexOf('>', at) + 1;
    } else if (isAt("?")) {
      final boolean foldsOutside = foldsCase;
      final boolean isDotAllOutside = isDotAll;
      final boolean isMultiLineOutside = isMultiLine;
      flags();
      if (isAt(")")) {
        at++;
        return null; // flags for what follows; a repetition is one of the part before
      }
      at++;
      final Node inner = choice();
      at++;
      foldsCase = foldsOutside;
      isDotAll = isDotAllOutside;
      isMultiLine = isMultiLineOutside;
      return inner;
    }
    final Node inner = choice();
    at++;
    return inner;
  }

  /** Reads from the question mark to the colon or the end of the group. */
  private void flags() {
    boolean isOn = true;
    for (at++; !isAt(":") && !isAt(")"); at++) {
      switch (text.charAt(at)) {
        case '-' -> isOn = false;
        case 'i' -> foldsCase = isOn;
        case 's' -> isDotAll = isOn;
        case 'm' -> isMultiLine = isOn;
        default -> {} // which of several matches is found does not matter
      }
    }
  }

  /** Returns whether there is a repetition here, which then is one of the last part. */
  private boolean repeat(List<Node> parts) {
    int least = 0;
    int most = UNLIMITED;
    switch (text.charAt(at)) {
      case '*' -> {}
      case '+' -> least = 1;
      case '?' -> most = 1;
      case '{' -> {
        final int end = text.indexOf('}', at);
        final String count = end < 0 ? "" : text.substring(at + 1, end);
        if (!count.matches("(0|[1-9][0-9]{0,3})(,(0|[1-9][0-9]{0,3})?)?")) {
          return false; // plain text
        }
        final int comma = count.indexOf(',');
        least = Integer.parseInt(comma < 0 ? count : count.substring(0, comma));
        if (comma < 0) {
          most = least;
        } else if (comma + 1 < count.length()) {
          most = Integer.parseInt(count.substring(comma + 1));
        }
        at = end;
      }
      default -> {
        return false;
      }
    }
    at++;
    if (isAt("?")) {
      at++;
    }
    parts.add(new Repeat(parts.removeLast(), least, most));
    return true;
  }

  private Node atom() {
    final char c = text.charAt(at);
    final int from = at;
    switch (c) {
      case '^' -> {
        at++;
        return isMultiLine ? Assertion.BEGIN_LINE : Assertion.BEGIN_TEXT;
      }
      case '$' -> {
        at++;
        return isMultiLine ? Assertion.END_LINE : Assertion.END_TEXT;
      }
      case '[' -> at = endOfClass(at);
      case '\\' -> {
        final Assertion assertion = assertion();
        if (assertion != null) {
          at += 2;
          return assertion;
        }
        at = endOfEscape(at + 1);
      }
      default -> at += Character.charCount(text.codePointAt(at));
    }
    return set(text.substring(from, at));
  }

  private Assertion assertion() {
    return switch (text.charAt(at + 1)) {
      case 'A' -> Assertion.BEGIN_TEXT;
      case 'z' -> Assertion.END_TEXT;
      case 'b' -> Assertion.WORD_BOUNDARY;
      case 'B' -> Assertion.NO_WORD_BOUNDARY;
      default -> null;
    };
  }

  /** A bracket at its beginning, and those of names such as {@code [:alpha:]}, do not end it. */
  private int endOfClass(int start) {
    int i = start + 1;
    if (text.charAt(i) == '^') {
      i++;
    }
    final int first = i;
    while (text.charAt(i) != ']' || i == first) {
      final int name = text.startsWith("[:", i) ? text.indexOf(":]", i + 2) : -1;
      i = name >= 0 ? name + 2 : text.charAt(i) == '\\' ? i + 2 : i + 1;
    }
    return i + 1;
  }

  /** Returns the end of an escape whose character after the backslash is at an index. */
  private int endOfEscape(int start) {
    final char c = text.charAt(start);
    int end = start + Character.charCount(text.codePointAt(start));
    if (c == 'x' || c == 'p' || c == 'P') {
      return text.charAt(end) == '{' ? text.indexOf('}', end) + 1 : end + (c == 'x' ? 2 : 1);
    }
    while (c >= '0' && c <= '7' && end < start + 3 && end < text.length()) {
      if (text.charAt(end) < '0' || text.charAt(end) > '7') {
        break;
      }
      end++;
    }
    return end;
  }

  /** Returns what a part that stands for one character matches. */
  private Chars set(String part) {
    final String key = (foldsCase ? "i" : "") + (isDotAll ? "s" : "") + "/" + part;
    return sets.computeIfAbsent(key, k -> ask(part));
  }

  private Chars ask(String part) {
    final Pattern pattern =
        Pattern.compile(
            part, (foldsCase ? Pattern.CASE_INSENSITIVE : 0) | (isDotAll ? Pattern.DOTALL : 0));
    final long[] bits = new long[2];
    for (int c = 0; c < CHARACTERS; c++) {
      if (pattern.matches(Character.toString(c))) {
        bits[c / Long.SIZE] |= 1L << c;
      }
    }
    return new Chars(bits[0], bits[1]);
  }
}
