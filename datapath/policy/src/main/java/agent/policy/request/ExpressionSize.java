package agent.policy.request;

/**
 * How large the automaton of an expression is at most, found before it is built: counted
 * repetitions in each other multiply. Where the syntax is not clear, it assumes more.
 *
 * @param states the number of states
 * @param depth how many groups are in each other
 */
record ExpressionSize(long states, int depth) {
  private static final int MOST_STATES = 1024;
  private static final int DEEPEST = 50;
  private static final long UNLIMITED = 1L << 40;

  static ExpressionSize of(String text) {
    return new Scan(text).size();
  }

  boolean isTooLarge() {
    return states > MOST_STATES || depth > DEEPEST;
  }

  String reason() {
    return depth > DEEPEST
        ? "more than %d nested groups".formatted(DEEPEST)
        : "more than %d states; counted repetitions add many".formatted(MOST_STATES);
  }

  private static final class Scan {
    private final String text;
    private final long[] outer;
    private int at;
    private int depth;
    private int deepest;
    private long sum;
    private long last;

    Scan(String text) {
      this.text = text;
      outer = new long[text.length() + 1];
    }

    ExpressionSize size() {
      while (at < text.length()) {
        step();
      }
      for (; depth > 0; depth--) {
        sum += outer[depth - 1];
      }
      return new ExpressionSize(sum + last, deepest);
    }

    private void step() {
      switch (text.charAt(at)) {
        case '(' -> open();
        case ')' -> close();
        case '[' -> {
          skipClass();
          atom();
        }
        case '{' -> repeat();
        case '\\' -> escape();
        default -> {
          at++;
          atom();
        }
      }
    }

    private void atom() {
      sum = Math.min(sum + last, UNLIMITED);
      last = 1;
    }

    private void open() {
      at++;
      outer[depth++] = Math.min(sum + last, UNLIMITED);
      deepest = Math.max(deepest, depth);
      sum = 2;
      last = 0;
    }

    private void close() {
      at++;
      if (depth > 0) {
        last = Math.min(sum + last, UNLIMITED);
        sum = outer[--depth];
      }
    }

    /** The class ends at the first bracket at the earliest. */
    private void skipClass() {
      for (at++; at < text.length() && text.charAt(at) != ']'; at++) {
        if (text.charAt(at) == '\\') {
          at++;
        }
      }
      at++;
    }

    /** Between {@code \\Q} and {@code \\E} every character stands for itself. */
    private void escape() {
      if (text.startsWith("Q", at + 1)) {
        final int end = text.indexOf("\\E", at + 2);
        final int to = end < 0 ? text.length() : end;
        sum = Math.min(sum + last + (to - at), UNLIMITED);
        last = 1;
        at = end < 0 ? to : end + 2;
      } else {
        at += 2;
        atom();
      }
    }

    /** What is not a count is plain text; its largest number counts all the same. */
    private void repeat() {
      long most = 1;
      long number = 0;
      int i = at + 1;
      for (; i < text.length() && isPartOfCount(text.charAt(i)); i++) {
        final char c = text.charAt(i);
        number = c == ',' ? 0 : Math.min(number * 10 + c - '0', UNLIMITED);
        most = Math.max(most, number);
      }
      if (i < text.length() && text.charAt(i) == '}') {
        last = Math.min(last, UNLIMITED / Math.max(most + 1, 1)) * (most + 1);
        at = i + 1;
      } else {
        at++;
        atom();
      }
    }

    private static boolean isPartOfCount(char c) {
      return c == ',' || c >= '0' && c <= '9';
    }
  }
}
