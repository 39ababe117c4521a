package agent.policy.request;

import agent.types.Refusal;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A regular expression that a whole text has to match, with the syntax of RE2; a dot stands for
 * every character. The time of a match is linear in the length of the text. Alternatives of plain
 * text, each with or without {@code .*} at its end, such as {@code GET|HEAD} and {@code
 * /public/.*}, are compared; other expressions have an automaton, and neither allocates. A match
 * allocates only where the automaton would be too large ({@link ExpressionAutomaton}), or a text is
 * not ASCII.
 */
public final class Expression {
  private static final int LONGEST = 4096;
  private static final String SPECIAL = "\\.+*?()|[]{}^$";

  /** About how many bytes of heap a state needs. */
  private static final int STATE_BYTES = 32;

  private final String text;
  private final boolean foldsCase;
  private final Set<String> names;
  private final String[] prefixes;
  private final ExpressionAutomaton automaton;
  private final Pattern pattern;

  /** One of alternatives, automaton and pattern is not null. */
  private Expression(
      String text,
      boolean foldsCase,
      Alternatives plain,
      ExpressionAutomaton automaton,
      Pattern pattern) {
    this.text = text;
    this.foldsCase = foldsCase;
    this.automaton = automaton;
    this.pattern = pattern;
    names = plain == null ? Set.of() : Set.copyOf(plain.names);
    prefixes = plain == null ? new String[0] : plain.prefixes.toArray(String[]::new);
  }

  /**
   * Reads an expression.
   *
   * @param field the field that holds it
   * @param text the expression
   * @param foldsCase whether case does not matter; then texts that are matched are in lower case
   * @return the expression
   * @throws Refusal INVALID
   */
  public static Expression parse(String field, String text, boolean foldsCase) {
    if (text.isEmpty()) {
      throw Refusal.invalid(field, "is empty: omit the field to match every value");
    }
    if (text.length() > LONGEST) {
      throw Refusal.invalid(
          field, "has %d characters, the limit is %d".formatted(text.length(), LONGEST));
    }
    final Alternatives plain = Alternatives.of(text, foldsCase);
    if (plain != null) {
      return new Expression(text, foldsCase, plain, null, null);
    }
    final ExpressionSize size = ExpressionSize.of(text);
    if (size.isTooLarge()) {
      throw Refusal.invalid(field, "the expression is too large: " + size.reason());
    }
    try {
      final Pattern pattern = compiled(text, foldsCase);
      final ExpressionAutomaton automaton = ExpressionAutomaton.of(text, foldsCase, size.states());
      return new Expression(text, foldsCase, null, automaton, automaton == null ? pattern : null);
    } catch (PatternSyntaxException e) {
      throw Refusal.invalid(
          field,
          "'%s' is not a valid regular expression: %s".formatted(shown(text), e.getDescription()));
    }
  }

  private static Pattern compiled(String text, boolean foldsCase) {
    return Pattern.compile(text, Pattern.DOTALL | (foldsCase ? Pattern.CASE_INSENSITIVE : 0));
  }

  private static String shown(String text) {
    return text.length() > 64 ? text.substring(0, 64) + "..." : text;
  }

  /** Returns how many characters of text need about as much heap as an expression. */
  public static long weight(String text) {
    return Alternatives.of(text, false) != null
        ? text.length()
        : text.length() + (long) STATE_BYTES * ExpressionSize.of(text).states();
  }

  /** Returns whether a text matches. */
  public boolean matches(String value) {
    if (automaton != null) {
      final int answer = automaton.matches(value);
      return answer < 0 ? compiled(text, foldsCase).matches(value) : answer == 1;
    }
    if (pattern != null) {
      return pattern.matches(value);
    }
    if (names.contains(value)) {
      return true;
    }
    for (int i = 0; i < prefixes.length; i++) {
      if (value.startsWith(prefixes[i])) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns whether a text of some of these characters may match. Where that is not known it is
   * true.
   *
   * @param characters below 128
   */
  public boolean matchesSome(BitSet characters) {
    if (automaton != null) {
      return automaton.matchesSome(characters);
    }
    return pattern != null
        || names.stream().anyMatch(name -> isOf(name, characters))
        || Arrays.stream(prefixes).anyMatch(own -> isOf(own, characters));
  }

  /**
   * Returns whether a path with its query may match that is in the form in which it is judged
   * ({@link NormalTarget}). Where that is not known it is true.
   *
   * @param keepsSlashes whether escaped slashes are kept; otherwise they are refused
   */
  public boolean matchesSomeTarget(boolean keepsSlashes) {
    if (automaton != null) {
      return automaton.matchesSomeTarget(keepsSlashes);
    }
    return pattern != null
        || names.stream().anyMatch(name -> NormalTarget.isNormal(name, keepsSlashes))
        || Arrays.stream(prefixes)
            .anyMatch(
                own ->
                    NormalTarget.after(NormalTarget.START, own, keepsSlashes) != NormalTarget.DEAD);
  }

  private static boolean isOf(String text, BitSet characters) {
    for (int i = 0; i < text.length(); i++) {
      if (!characters.get(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether case does not matter. */
  public boolean foldsCase() {
    return foldsCase;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Expression that
        && foldsCase == that.foldsCase
        && text.equals(that.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  /** Returns the expression as it was written. */
  @Override
  public String toString() {
    return text;
  }

  /** What an expression of alternatives of plain text matches. */
  private static final class Alternatives {
    private final Set<String> names = new HashSet<>();
    private final List<String> prefixes = new ArrayList<>();
    private final StringBuilder current = new StringBuilder();

    /** Returns the alternatives; null where the expression is not one of them. */
    static Alternatives of(String text, boolean foldsCase) {
      final boolean isGroup = text.startsWith("(") && text.endsWith(")");
      final int from = text.startsWith("(?:") ? 3 : 1;
      final String body = isGroup && from < text.length() ? inner(text, from) : text;
      final Alternatives found = new Alternatives();
      return found.read(foldsCase ? lower(body) : body) ? found : null;
    }

    private static String inner(String text, int from) {
      return text.substring(from, text.length() - 1);
    }

    private static String lower(String text) {
      final StringBuilder lower = new StringBuilder(text);
      for (int i = 0; i < text.length(); i++) {
        final char c = text.charAt(i);
        lower.setCharAt(i, c >= 'A' && c <= 'Z' ? (char) (c + ' ') : c);
      }
      return lower.toString();
    }

    private boolean read(String body) {
      for (int i = 0; i < body.length(); i++) {
        final char c = body.charAt(i);
        if (c == '|') {
          end(false);
        } else if (c == '.' && body.startsWith("*", i + 1) && endsAt(body, i + 2)) {
          end(true);
          i += 2; // the bar, or the end
          if (i >= body.length()) {
            return true;
          }
        } else if (c == '\\' && i + 1 < body.length() && isPunctuation(body.charAt(i + 1))) {
          current.append(body.charAt(++i));
        } else if (SPECIAL.indexOf(c) >= 0) {
          return false;
        } else {
          current.append(c);
        }
      }
      end(false);
      return true;
    }

    /** After a backslash these stand for themselves. */
    private static boolean isPunctuation(char c) {
      return c > ' '
          && c < 127
          && !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z');
    }

    private static boolean endsAt(String body, int index) {
      return index == body.length() || body.charAt(index) == '|';
    }

    private void end(boolean isPrefix) {
      if (isPrefix) {
        prefixes.add(current.toString());
      } else {
        names.add(current.toString());
      }
      current.setLength(0);
    }
  }
}
