package agent.server.handler;

import java.io.Writer;
import tools.jackson.core.JsonGenerator;

/**
 * Writes a JSON document as the value of a JSON string, piece by piece: the string is never in
 * memory as a whole. The document has no control characters, so that only quotes and backslashes
 * are escaped.
 */
final class JsonInString extends Writer {
  private final JsonGenerator outer;
  private char pendingSurrogate;

  /**
   * Begins the string.
   *
   * @param outer at the place of a value
   */
  JsonInString(JsonGenerator outer) {
    this.outer = outer;
    outer.writeRawValue("\"");
  }

  @Override
  public void write(char[] text, int offset, int length) {
    final int end = offset + length;
    int start = offset;
    for (int i = offset; i < end; i++) {
      if (text[i] == '"' || text[i] == '\\') {
        raw(text, start, i);
        outer.writeRaw('\\');
        start = i;
      }
    }
    raw(text, start, end);
  }

  /** Writes from start to end; a pair of surrogates is not torn, because it is one character. */
  private void raw(char[] text, int start, int end) {
    int from = start;
    int to = end;
    if (pendingSurrogate != 0 && from < to) {
      outer.writeRaw(new String(new char[] {pendingSurrogate, text[from++]}));
      pendingSurrogate = 0;
    }
    if (from < to && Character.isHighSurrogate(text[to - 1])) {
      pendingSurrogate = text[--to];
    }
    if (from < to) {
      outer.writeRaw(text, from, to - from);
    }
  }

  /** Writes a part that has its escapes, behind whole characters. */
  void escaped(String text) {
    outer.writeRaw(text);
  }

  /** Returns the text of a document with the escapes that it has in a string. */
  static String escape(String text) {
    return text.replace("\\", "\\\\").replace("\"", "\\\"");
  }

  @Override
  public void flush() {}

  /** Ends the string. */
  @Override
  public void close() {
    outer.writeRaw('"');
  }
}
