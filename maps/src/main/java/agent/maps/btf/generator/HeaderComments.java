package agent.maps.btf.generator;

import agent.maps.btf.BtfException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The comments of structs and enums in C headers, which BTF does not have: the one right before the
 * declaration, and for each member or constant the one behind it, or right before it on lines of
 * its own.
 */
final class HeaderComments {
  private static final Pattern DECLARATION = Pattern.compile("(?m)^(struct|enum)\\s+(\\w+)\\s*\\{");

  private static final Pattern COMMENT = Pattern.compile("(?s)/\\*(.*?)\\*/");
  private static final Pattern NAME_AT_END =
      Pattern.compile("(?s)(\\w+)\\s*(?:\\[[^]]*]\\s*)*(?::\\s*\\w+\\s*)?$");

  private static final Pattern FIRST_WORD = Pattern.compile("(?s)^\\s*(\\w+)");

  /**
   * The comments of a struct or enum; an empty string where there is none.
   *
   * @param header that declares it, below the folder of headers
   * @param comment paragraphs, with an empty line between two of them
   * @param members the comments by the name of the member or constant
   */
  record Declaration(String header, String comment, Map<String, String> members) {
    /**
     * Returns the comment of a member or constant.
     *
     * @throws BtfException if the declaration does not have it
     */
    String of(String member) {
      final String found = members.get(member);
      if (found == null) {
        throw new BtfException(header + ": does not declare '" + member + "', which BTF has");
      }
      return found;
    }
  }

  /**
   * A comment in the body of a declaration.
   *
   * @param at place in the body without comments
   * @param isOnItsOwn no code is before it on its line
   */
  private record Comment(int at, boolean isOnItsOwn, String text) {}

  private final Map<String, Declaration> declarations = new HashMap<>();

  /**
   * Reads headers.
   *
   * @param headers text by path below the folder of headers
   */
  HeaderComments(Map<String, String> headers) {
    new TreeMap<>(headers).forEach(this::read);
  }

  /**
   * Returns the comments of a struct or enum, such as {@code struct policy_key}.
   *
   * @throws BtfException if no header declares it
   */
  Declaration of(String declaration) {
    final Declaration found = declarations.get(declaration);
    if (found == null) {
      throw new BtfException(declaration + ": no header declares it");
    }
    return found;
  }

  private void read(String header, String text) {
    final Matcher declaration = DECLARATION.matcher(text);
    while (declaration.find()) {
      final int end = end(text, declaration.end());
      final String name = declaration.group(1) + ' ' + declaration.group(2);
      final Declaration read =
          new Declaration(
              header,
              before(text.substring(0, declaration.start())),
              members(text.substring(declaration.end(), end), declaration.group(1).equals("enum")));
      if (declarations.put(name, read) != null) {
        throw new BtfException(header + ": " + name + " is declared twice");
      }
    }
  }

  /** Returns the comment that ends on the line before, or an empty string. */
  private static String before(String head) {
    return head.endsWith("*/\n")
        ? text(head.substring(head.lastIndexOf("/*") + 2, head.length() - "*/\n".length()))
        : "";
  }

  /** Returns the place of the brace that closes the one before {@code from}. */
  private static int end(String text, int from) {
    int depth = 1;
    int at = from;
    while (at < text.length()) {
      if (text.startsWith("/*", at)) {
        at = Math.max(text.indexOf("*/", at), at);
      } else if (text.charAt(at) == '{') {
        depth++;
      } else if (text.charAt(at) == '}' && --depth == 0) {
        break;
      }
      at++;
    }
    return at;
  }

  private static Map<String, String> members(String body, boolean isEnum) {
    final List<Comment> comments = new ArrayList<>();
    final String code = withoutComments(body, comments);
    final Map<String, String> members = new LinkedHashMap<>();
    final TreeMap<Integer, String> starts = new TreeMap<>();
    int start = 0;
    while (start < code.length()) {
      final int separator = code.indexOf(isEnum ? ',' : ';', start);
      final int end = separator < 0 ? code.length() : separator;
      final Matcher name = (isEnum ? FIRST_WORD : NAME_AT_END).matcher(code.substring(start, end));
      if (name.find()) {
        members.put(name.group(1), "");
        starts.put(start + leadingSpace(code.substring(start, end)), name.group(1));
      }
      start = end + 1;
    }
    for (final Comment comment : comments) {
      final Map.Entry<Integer, String> member =
          comment.isOnItsOwn ? starts.ceilingEntry(comment.at) : starts.lowerEntry(comment.at);
      if (member != null) {
        members.merge(member.getValue(), comment.text, HeaderComments::joined);
      }
    }
    return members;
  }

  private static String withoutComments(String body, List<Comment> comments) {
    final StringBuilder code = new StringBuilder();
    final Matcher comment = COMMENT.matcher(body);
    int from = 0;
    while (comment.find()) {
      code.append(body, from, comment.start());
      from = comment.end();
      final boolean isOnItsOwn = code.substring(code.lastIndexOf("\n") + 1).isBlank();
      comments.add(new Comment(code.length(), isOnItsOwn, text(comment.group(1))));
    }
    return code.append(body, from, body.length()).toString();
  }

  private static int leadingSpace(String text) {
    return text.length() - text.stripLeading().length();
  }

  private static String joined(String one, String two) {
    return one.isEmpty() ? two : one + "; " + two;
  }

  /** Returns the text without the stars at the start of lines; an empty line ends a paragraph. */
  private static String text(String comment) {
    final StringBuilder text = new StringBuilder();
    boolean isParagraph = false;
    for (final String line : comment.split("\n")) {
      final String words = line.strip().replaceFirst("^\\*+\\s*", "").strip();
      if (words.isEmpty()) {
        isParagraph = !text.isEmpty();
      } else {
        text.append(text.isEmpty() ? "" : isParagraph ? "\n\n" : " ").append(words);
        isParagraph = false;
      }
    }
    return text.toString();
  }
}
