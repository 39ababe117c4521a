package agent.policy.request;

/**
 * The normal form in which the proxy judges paths with their queries, as an automaton: one step a
 * character. A path begins with a slash; unreserved characters are not encoded and encodings are in
 * upper case (RFC 3986 section 6.2.2); no segment, nor part of one beside an escaped slash, is
 * {@code .} or {@code ..}, also before parameters. Escaped slashes and backslashes, where they are
 * kept, are as they came.
 */
public final class NormalTarget {
  static final int DEAD = 0;
  static final int START = 1;
  private static final int PART = 2; // of a segment, which begins
  private static final int DOT = 3;
  private static final int DOTS = 4;
  private static final int OTHER = 5;
  private static final int QUERY = 6;
  private static final int ENCODING = 7;
  private static final int ENCODING_AFTER_DOTS = 8;

  /** After the first digit of an encoding, which is added. */
  private static final int FIRST_DIGIT = 16;

  private static final int FIRST_DIGIT_AFTER_DOTS = 32;

  /** How many states there are. */
  static final int STATES = 48;

  private NormalTarget() {}

  /** Returns whether RFC 3986 section 2.3 names a character, whose encoding means the same. */
  public static boolean isUnreserved(int c) {
    return c >= 'a' && c <= 'z'
        || c >= 'A' && c <= 'Z'
        || c >= '0' && c <= '9'
        || c == '-'
        || c == '.'
        || c == '_'
        || c == '~';
  }

  /**
   * Returns whether a path with its query is in its normal form.
   *
   * @param keepsSlashes whether escaped slashes are kept; otherwise they are refused
   */
  public static boolean isNormal(String target, boolean keepsSlashes) {
    return isEnd(after(START, target, keepsSlashes));
  }

  /** Returns the state after a text. */
  static int after(int state, String text, boolean keepsSlashes) {
    int to = state;
    for (int i = 0; i < text.length(); i++) {
      to = next(to, text.charAt(i), keepsSlashes);
    }
    return to;
  }

  /** Returns whether a target may end in a state. */
  static boolean isEnd(int state) {
    return state == PART || state == OTHER || state == QUERY;
  }

  /** Returns the next state; from each but {@link #DEAD} a target can be completed. */
  static int next(int state, int c, boolean keepsSlashes) {
    if (c <= ' ' || c >= 0x7f || c == '#') {
      return DEAD;
    }
    return switch (state) {
      case DEAD -> DEAD;
      case START -> c == '/' ? PART : DEAD;
      case QUERY -> QUERY;
      case ENCODING, ENCODING_AFTER_DOTS -> firstDigit(state, c);
      case PART, DOT, DOTS, OTHER -> inPart(state, c);
      default -> secondDigit(state, c, keepsSlashes);
    };
  }

  private static int inPart(int state, int c) {
    final boolean isDots = state == DOT || state == DOTS;
    return switch (c) {
      case '/' -> isDots ? DEAD : PART;
      case '?' -> isDots ? DEAD : QUERY;
      case ';' -> isDots ? DEAD : OTHER;
      case '%' -> isDots ? ENCODING_AFTER_DOTS : ENCODING;
      case '.' -> state == PART ? DOT : state == DOT ? DOTS : OTHER;
      case '\\' -> DEAD;
      default -> OTHER;
    };
  }

  private static int firstDigit(int state, int c) {
    final int digit = c >= 'a' ? -1 : Character.digit(c, 16);
    if (digit < 0) {
      return DEAD;
    }
    return digit + (state == ENCODING ? FIRST_DIGIT : FIRST_DIGIT_AFTER_DOTS);
  }

  private static int secondDigit(int state, int c, boolean keepsSlashes) {
    final int digit = Character.digit(c, 16);
    final int value = (state % FIRST_DIGIT) * 16 + digit;
    if (digit < 0 || value == 0 || isUnreserved(value)) {
      return DEAD;
    }
    if (value == '/' || value == '\\') {
      return keepsSlashes && state < FIRST_DIGIT_AFTER_DOTS ? PART : DEAD;
    }
    return c >= 'a' ? DEAD : OTHER;
  }
}
