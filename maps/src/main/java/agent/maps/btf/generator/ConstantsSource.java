package agent.maps.btf.generator;

import agent.maps.btf.Btf;
import agent.maps.btf.BtfException;
import agent.maps.btf.BtfType.Constant;
import agent.maps.btf.BtfType.Enumeration;
import java.util.List;

/** Writes the constants of C enums: an enum of Java, or plain numbers. */
final class ConstantsSource {
  /** How the names of enums end whose constants are bits. */
  private static final String FLAGS = "_flag";

  private static final int GROUPED_FROM = 10_000;

  private final Btf btf;
  private final HeaderComments comments;
  private final Javadoc javadoc;

  ConstantsSource(Btf btf, HeaderComments comments, Javadoc javadoc) {
    this.btf = btf;
    this.comments = comments;
    this.javadoc = javadoc;
  }

  /**
   * Returns an enum of Java.
   *
   * @throws BtfException if BTF does not have the enum, or if a number is not one of Java's
   */
  String enumeration(String name) {
    final List<Constant> constants = constants(name);
    final HeaderComments.Declaration declaration = comments.of("enum " + name);
    final String type = JavaNames.type(name);
    final String prefix = prefix(name, constants);
    final StringBuilder out = new StringBuilder(header(name, declaration));
    out.append("public enum ").append(type).append(" implements Numbered {\n");
    for (final Constant constant : constants) {
      writeComment(out, declaration.of(constant.name()));
      out.append("  ").append(constant.name().substring(prefix.length()));
      out.append('(').append(number(name, constant)).append(')');
      out.append(constant == constants.getLast() ? ";\n" : ",\n");
    }
    return out.append("\n  private final int number;\n\n  ")
        .append(type)
        .append("(int number) {\n    this.number = number;\n  }\n\n")
        .append("  @Override\n  public int number() {\n    return number;\n  }\n")
        .append(name.endsWith(FLAGS) ? isIn() : "")
        .append("}\n")
        .toString();
  }

  private static String isIn() {
    return "\n"
        + Javadoc.comment("  ", "Returns whether the bit is set.")
        + "  public boolean isIn(int flags) {\n    return (flags & number) != 0;\n  }\n";
  }

  /** Returns a class of numbers, each by its name without what all of them begin with. */
  String numbers(String name) {
    final List<Constant> constants = constants(name);
    final HeaderComments.Declaration declaration = comments.of("enum " + name);
    final StringBuilder out = new StringBuilder(header(name, declaration));
    final String type = JavaNames.type(name);
    out.append("public final class ").append(type).append(" {\n");
    writeNumbers(out, name, prefix(name, constants));
    return out.append("  private ").append(type).append("() {}\n}\n").toString();
  }

  /** Returns one class with the numbers of several enums, each by its name in C. */
  String numbersOfAll(String type, String description, List<String> names) {
    final StringBuilder out = new StringBuilder("package agent.maps.layout;\n\n");
    out.append(Javadoc.comment("", description));
    out.append("public final class ").append(type).append(" {\n");
    for (final String name : names) {
      final String header = comments.of("enum " + name).header();
      out.append("  // enum ").append(name).append(" in ").append(header).append("\n\n");
      writeNumbers(out, name, "");
    }
    return out.append("  private ").append(type).append("() {}\n}\n").toString();
  }

  private void writeNumbers(StringBuilder out, String name, String prefix) {
    final HeaderComments.Declaration declaration = comments.of("enum " + name);
    for (final Constant constant : constants(name)) {
      writeComment(out, declaration.of(constant.name()));
      out.append("  public static final int ").append(constant.name().substring(prefix.length()));
      out.append(" = ").append(number(name, constant)).append(";\n\n");
    }
  }

  private static String prefix(String name, List<Constant> constants) {
    return JavaNames.prefix(name, constants.stream().map(Constant::name).toList());
  }

  private List<Constant> constants(String name) {
    return btf.find(Enumeration.class, name)
        .orElseThrow(() -> new BtfException("enum " + name + ": not in BTF"))
        .constants();
  }

  private String header(String name, HeaderComments.Declaration declaration) {
    final String declared = "{@code enum " + name + "} in {@code " + declaration.header() + "}.";
    final String comment = javadoc.sentence(declaration.comment());
    return "package agent.maps.layout;\n\n"
        + Javadoc.comment("", (comment.isEmpty() ? "" : comment + "\n\n") + declared);
  }

  private void writeComment(StringBuilder out, String comment) {
    if (!comment.isEmpty()) {
      out.append(Javadoc.comment("  ", javadoc.sentence(comment)));
    }
  }

  private static String number(String name, Constant constant) {
    if (constant.value() != (int) constant.value()) {
      throw new BtfException(
          "enum %s: %s: %d is not an int".formatted(name, constant.name(), constant.value()));
    }
    return constant.value() < GROUPED_FROM
        ? Long.toString(constant.value())
        : "%,d".formatted(constant.value()).replace(',', '_');
  }
}
