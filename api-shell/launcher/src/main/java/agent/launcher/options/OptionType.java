package agent.launcher.options;

/** The form of an option's value. */
public enum OptionType {
  /** {@code true} or {@code false}; on the command line the name alone means {@code true}. */
  BOOL("bool"),
  /** A decimal number. */
  INT("int"),
  /** One text. */
  STRING("string"),
  /** Texts, separated by commas or given by repeating the option. */
  STRINGS("strings"),
  /** {@code key=value} pairs, separated by commas or given by repeating the option. */
  MAP("map"),
  /** Seconds as a plain number, or a duration such as {@code 5m0s}. */
  DURATION("duration");

  private final String label;

  OptionType(String label) {
    this.label = label;
  }

  /**
   * Returns the name of the type in the help text.
   *
   * @return the contract's name of this type
   */
  public String label() {
    return label;
  }

  boolean isCollected() {
    return this == STRINGS || this == MAP;
  }
}
