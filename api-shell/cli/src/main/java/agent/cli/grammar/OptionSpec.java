package agent.cli.grammar;

import java.util.List;

/**
 * An option.
 *
 * @param name its long name, with dashes
 * @param letter its short name with a dash, or an empty text
 * @param label name of its value in help; empty where it takes none, in brackets where the first
 *     choice is meant without one
 * @param summary what it does
 * @param kind what its value is completed by
 * @param choices the values that it can have; empty where it is free
 * @param isRepeated whether it may occur several times, and holds several values parted by commas
 */
public record OptionSpec(
    String name,
    String letter,
    String label,
    String summary,
    ValueKind kind,
    List<String> choices,
    boolean isRepeated) {

  /** Returns an option without a value. */
  public static OptionSpec flag(String name, String summary) {
    return new OptionSpec(name, "", "", summary, ValueKind.TEXT, List.of(), false);
  }

  /** Returns an option with a value. */
  public static OptionSpec value(String name, String label, ValueKind kind, String summary) {
    return new OptionSpec(name, "", label, summary, kind, List.of(), false);
  }

  /** Returns an option with a value that nothing completes. */
  public static OptionSpec text(String name, String label, String summary) {
    return value(name, label, ValueKind.TEXT, summary);
  }

  /** Returns the option with a short name. */
  public OptionSpec withLetter(String short1) {
    return new OptionSpec(name, short1, label, summary, kind, choices, isRepeated);
  }

  /** Returns the option with the values that it can have. */
  public OptionSpec among(String... values) {
    return new OptionSpec(name, letter, label, summary, kind, List.of(values), isRepeated);
  }

  /** Returns the option as one that may occur several times. */
  public OptionSpec repeated() {
    return new OptionSpec(name, letter, label, summary, kind, choices, true);
  }

  /** Returns whether the option has a value. */
  public boolean takesValue() {
    return !label.isEmpty();
  }

  /** Returns whether the value may be left out. */
  boolean isValueOptional() {
    return label.startsWith("[");
  }

  /** Returns the names with the value as help shows them. */
  public String usage() {
    final String names = letter.isEmpty() ? name : letter + ", " + name;
    return takesValue() ? names + " " + label : names;
  }
}
