package agent.cli.output;

import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.regex.Pattern;

/** YAML 1.2 in block style; texts that YAML could take for something else are quoted. */
public final class YamlTreeWriter extends TreeWriter {
  /** Begins with a letter or slash and has no character that YAML gives a meaning. */
  private static final Pattern PLAIN =
      Pattern.compile("[A-Za-z/_][A-Za-z0-9_./@+-]*(?:[:=][A-Za-z0-9_./@+=-]+)*");

  /** What YAML 1.1 or 1.2 reads as a truth value or null. */
  private static final Pattern WORD = Pattern.compile("(?i)true|false|null|yes|no|on|off|y|n|_+");

  private enum Place {
    OBJECT,
    ARRAY
  }

  private static final int ASKED_EACH = 10_000;

  private final PrintStream out;
  private long asked;
  private final StringBuilder line = new StringBuilder();
  private final Deque<Place> open = new ArrayDeque<>();
  private boolean isFirst; // nothing was written in the array or object that is open
  private boolean isBehindDash;
  private boolean isBehindName;

  /** Begins a document. */
  public YamlTreeWriter(PrintStream out) {
    this.out = out;
  }

  /** Prepares the place of a value: a dash in an array, nothing behind a name. */
  private void element() {
    if (open.peek() == Place.ARRAY && !isBehindName) {
      startLine();
      line.append("- ");
      isBehindDash = true;
      isFirst = false;
    }
  }

  private void startLine() {
    if (isBehindDash) {
      isBehindDash = false; // what follows stands on the line of the dash
      return;
    }
    flushLine();
    line.repeat("  ", open.size() - 1);
  }

  private void flushLine() {
    if (!line.isEmpty()) {
      out.println(line.toString().stripTrailing());
      line.setLength(0);
    }
  }

  private void start(Place place) {
    element();
    open.push(place);
    isFirst = true;
    isBehindName = false;
  }

  private void end(String empty) {
    open.pop();
    if (isFirst) {
      line.append(empty);
      isBehindDash = false;
      isFirst = false;
    }
  }

  @Override
  public void startObject() {
    start(Place.OBJECT);
  }

  @Override
  public void endObject() {
    end("{}");
  }

  @Override
  public void startArray() {
    start(Place.ARRAY);
  }

  @Override
  public void endArray() {
    end("[]");
  }

  @Override
  public void name(String name) {
    startLine();
    isFirst = false;
    scalar(name);
    line.append(": ");
    isBehindName = true;
  }

  @Override
  public void text(String text) {
    element();
    scalar(text);
    done();
  }

  @Override
  public void literal(String literal) {
    element();
    line.append(literal);
    done();
  }

  private void done() {
    isBehindName = false;
    isBehindDash = false;
  }

  private void scalar(String text) {
    if (PLAIN.matcher(text).matches() && !WORD.matcher(text).matches()) {
      line.append(text);
    } else {
      JsonTreeWriter.quote(line, text);
    }
  }

  @Override
  public boolean isBroken() {
    return ++asked % ASKED_EACH == 0 && out.checkError(); // which flushes
  }

  @Override
  public void end() {
    flushLine();
  }
}
