package agent.maps.btf.generator;

import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Comments of Java: escaped, with links, and broken into lines. */
final class Javadoc {
  private static final int LINE = 100;
  private static final Pattern REFERENCE = Pattern.compile("\\b(struct|enum) (\\w+)\\b");

  private final Set<String> structs;
  private final Set<String> enums;

  /**
   * Creates the writer of comments.
   *
   * @param structs that have a flyweight
   * @param enums that have a type of their name
   */
  Javadoc(Set<String> structs, Set<String> enums) {
    this.structs = Set.copyOf(structs);
    this.enums = Set.copyOf(enums);
  }

  /** Returns text of C as text of Javadoc, with links to the types that Java has. */
  String text(String comment) {
    final String escaped =
        comment
            .replace("&", "&amp;")
            .replace("<", "&lt;")
            .replace(">", "&gt;")
            .replace("@", "&#64;")
            .replace("{", "&#123;")
            .replace("}", "&#125;");
    return REFERENCE.matcher(escaped).replaceAll(this::link);
  }

  private String link(MatchResult reference) {
    final String name = reference.group(2);
    final boolean isStruct = reference.group(1).equals("struct");
    final String link =
        isStruct && structs.contains(name)
            ? "{@link " + JavaNames.flyweight(name) + "}"
            : !isStruct && enums.contains(name)
                ? "{@link " + JavaNames.type(name) + "}"
                : "{@code " + reference.group() + "}";
    return Matcher.quoteReplacement(link);
  }

  /** Returns the text as a sentence, or an empty string. */
  String sentence(String comment) {
    if (comment.isEmpty()) {
      return "";
    }
    final String text = text(comment);
    final String start = Character.toUpperCase(text.charAt(0)) + text.substring(1);
    return start.endsWith(".") ? start : start + '.';
  }

  /** Returns the text in parentheses behind a space, or an empty string. */
  String aside(String comment) {
    final String text = text(comment);
    return text.isEmpty()
        ? ""
        : " (" + (text.endsWith(".") ? text.substring(0, text.length() - 1) : text) + ')';
  }

  /** Returns a comment on one line where it fits, else on several. */
  static String comment(String indent, String text) {
    final String line = indent + "/** " + text + " */\n";
    return line.length() <= LINE + 1 && !text.contains("\n") ? line : comment(indent, text, "");
  }

  /** Returns a comment on several lines, at whose end other lines stand as they are. */
  static String comment(String indent, String text, String table) {
    final StringBuilder comment = new StringBuilder(indent).append("/**\n");
    boolean isFirst = true;
    for (final String paragraph : text.split("\n\n")) {
      if (!isFirst) {
        comment.append(indent).append(" *\n");
      }
      comment.append(wrapped(indent + " * ", (isFirst ? "" : "<p>") + paragraph));
      isFirst = false;
    }
    if (!table.isEmpty()) {
      comment.append(indent).append(" *\n");
      table.lines().forEach(it -> comment.append(indent).append(" * ").append(it).append('\n'));
    }
    return comment.append(indent).append(" */\n").toString();
  }

  private static String wrapped(String start, String paragraph) {
    final StringBuilder text = new StringBuilder();
    final StringBuilder line = new StringBuilder(start);
    for (final String word : paragraph.split(" ")) {
      if (line.length() > start.length() && line.length() + 1 + word.length() > LINE) {
        text.append(line).append('\n');
        line.setLength(start.length());
      }
      line.append(line.length() > start.length() ? " " : "").append(word);
    }
    return text.append(line).append('\n').toString();
  }
}
