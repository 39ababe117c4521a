package agent.cli.output;

import java.io.PrintStream;

/** Indented JSON: one member or element a line. */
public final class JsonTreeWriter extends TreeWriter {
  private static final String HEX = "0123456789abcdef";
  private static final int ASKED_EACH = 10_000;

  private final PrintStream out;
  private long asked;
  private final StringBuilder line = new StringBuilder();
  private int depth;
  private boolean isEmpty = true; // of the array or object that is open
  private boolean hasName;

  /** Begins a document. */
  public JsonTreeWriter(PrintStream out) {
    this.out = out;
  }

  private void begin() {
    if (hasName) {
      hasName = false;
      return;
    }
    if (depth > 0) {
      line.append(isEmpty ? "" : ",");
      flushLine();
      line.repeat("  ", depth);
    }
    isEmpty = false;
  }

  private void flushLine() {
    out.println(line);
    line.setLength(0);
  }

  private void open(char bracket) {
    begin();
    line.append(bracket);
    depth++;
    isEmpty = true;
  }

  private void close(char bracket) {
    depth--;
    if (!isEmpty) {
      flushLine();
      line.repeat("  ", depth);
    }
    line.append(bracket);
    isEmpty = false;
  }

  @Override
  public void startObject() {
    open('{');
  }

  @Override
  public void endObject() {
    close('}');
  }

  @Override
  public void startArray() {
    open('[');
  }

  @Override
  public void endArray() {
    close(']');
  }

  @Override
  public void name(String name) {
    begin();
    quote(line, name);
    line.append(": ");
    hasName = true;
  }

  @Override
  public void text(String text) {
    begin();
    quote(line, text);
  }

  @Override
  public void literal(String literal) {
    begin();
    line.append(literal);
  }

  @Override
  public boolean isBroken() {
    return ++asked % ASKED_EACH == 0 && out.checkError(); // which flushes
  }

  @Override
  public void end() {
    if (!line.isEmpty()) {
      flushLine();
    }
  }

  /** Appends a JSON string, which is a double-quoted YAML scalar, too. */
  static void quote(StringBuilder to, String text) {
    to.append('"');
    for (int i = 0; i < text.length(); i++) {
      final char c = text.charAt(i);
      switch (c) {
        case '"' -> to.append("\\\"");
        case '\\' -> to.append("\\\\");
        case '\n' -> to.append("\\n");
        case '\r' -> to.append("\\r");
        case '\t' -> to.append("\\t");
        default -> {
          if (c < ' ' || c >= 0x7f && c <= 0x9f || c == 0x2028 || c == 0x2029 || c == 0xfeff) {
            to.append("\\u").append(HEX.charAt(c >> 12)).append(HEX.charAt(c >> 8 & 0xf));
            to.append(HEX.charAt(c >> 4 & 0xf)).append(HEX.charAt(c & 0xf));
          } else {
            to.append(c);
          }
        }
      }
    }
    to.append('"');
  }

  /** Returns a value of {@link Tree} as JSON on one line, as the body of a request. */
  public static String compact(Object value) {
    final StringBuilder text = new StringBuilder();
    compact(text, value);
    return text.toString();
  }

  private static void compact(StringBuilder to, Object value) {
    switch (value) {
      case java.util.Map<?, ?> members -> {
        String separator = "{";
        for (final var member : members.entrySet()) {
          to.append(separator);
          quote(to, member.getKey().toString());
          compact(to.append(':'), member.getValue());
          separator = ",";
        }
        to.append(members.isEmpty() ? "{}" : "}");
      }
      case java.util.List<?> elements -> {
        String separator = "[";
        for (final Object element : elements) {
          compact(to.append(separator), element);
          separator = ",";
        }
        to.append(elements.isEmpty() ? "[]" : "]");
      }
      case String text -> quote(to, text);
      case null -> to.append("null");
      default -> to.append(value);
    }
  }
}
