package agent.cli.output;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code -o jsonpath=…} prints: the values of one path, one a line, or of paths in braces with
 * the text between them, such as {@code {.id} {.status.state}\n}; {@code \n} and {@code \t} stand
 * for a line feed and a tabulator.
 */
public final class PathTemplate {
  /** A text, or a path whose values are put in its place. */
  private record Part(String text, JsonPath path) {}

  private final List<Part> parts = new ArrayList<>();
  private final boolean isPathAlone;

  /**
   * Parses a template.
   *
   * @throws IllegalArgumentException where a path is malformed
   */
  public PathTemplate(String template) {
    isPathAlone = template.indexOf('{') < 0;
    if (template.isBlank()) {
      throw new IllegalArgumentException("missing path, such as .status.state");
    }
    if (isPathAlone) {
      parts.add(new Part("", JsonPath.of(template)));
      return;
    }
    int from = 0;
    for (int open = template.indexOf('{'); open >= 0; open = template.indexOf('{', from)) {
      final int close = template.indexOf('}', open);
      if (close < 0) {
        throw new IllegalArgumentException("'" + template + "': '}' is missing");
      }
      parts.add(new Part(unescaped(template.substring(from, open)), null));
      parts.add(new Part("", JsonPath.of(template.substring(open + 1, close).strip())));
      from = close + 1;
    }
    parts.add(new Part(unescaped(template.substring(from)), null));
  }

  private static String unescaped(String text) {
    return text.replace("\\n", "\n").replace("\\t", "\t");
  }

  /**
   * Prints the values of a document.
   *
   * @return whether every path that leads to one value has found it
   */
  public boolean print(Object document, PrintStream out) {
    boolean isComplete = true;
    for (final Part part : parts) {
      if (part.path == null) {
        out.print(part.text);
        continue;
      }
      final List<Object> found = part.path.from(document);
      isComplete &= !found.isEmpty() || !part.path.isDefinite();
      if (isPathAlone) {
        found.forEach(value -> out.println(text(value)));
      } else {
        out.print(String.join(" ", found.stream().map(PathTemplate::text).toList()));
      }
    }
    return isComplete;
  }

  private static String text(Object value) {
    return Text.oneLine(value instanceof String text ? text : JsonTreeWriter.compact(value));
  }
}
