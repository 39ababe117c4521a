package agent.cli.grammar;

import java.util.List;

/**
 * A positional argument.
 *
 * @param label its name in help
 * @param summary what it is
 * @param isRequired whether a command line without it is refused
 * @param isRepeated whether all words that follow belong to it
 * @param kind what it is completed by
 * @param choices the words that it can be; empty where it is free
 */
public record ArgumentSpec(
    String label,
    String summary,
    boolean isRequired,
    boolean isRepeated,
    ValueKind kind,
    List<String> choices) {

  /** Returns an argument that must be there. */
  public static ArgumentSpec required(String label, ValueKind kind, String summary) {
    return new ArgumentSpec(label, summary, true, false, kind, List.of());
  }

  /** Returns an argument that may be left out. */
  public static ArgumentSpec optional(String label, ValueKind kind, String summary) {
    return new ArgumentSpec(label, summary, false, false, kind, List.of());
  }

  /** Returns an argument that takes all words that follow. */
  public static ArgumentSpec several(String label, ValueKind kind, String summary) {
    return new ArgumentSpec(label, summary, false, true, kind, List.of());
  }

  /** Returns an argument that must be one of these words. */
  public static ArgumentSpec oneOf(String label, String summary, String... choices) {
    return new ArgumentSpec(label, summary, true, false, ValueKind.TEXT, List.of(choices));
  }

  /** Returns the argument as the usage line shows it. */
  public String usage() {
    final String text = isRepeated ? label + "..." : label;
    return isRequired ? text : "[" + text + "]";
  }
}
