package agent.types;

/**
 * The declaration of an option that is a number, by the part that uses it; the option table shows
 * it and checks with it what it reads.
 *
 * @param name long name without dashes
 * @param standard the value where none is given
 * @param lowest the lowest value, of a duration in seconds
 * @param highest the highest value
 */
public record NumberOption(String name, int standard, int lowest, int highest) {
  /** Declares a number that has no highest value of its own. */
  public NumberOption(String name, int standard, int lowest) {
    this(name, standard, lowest, Integer.MAX_VALUE);
  }

  /** Returns whether the option may have the value. */
  public boolean allows(long value) {
    return value >= lowest && value <= highest;
  }

  /**
   * Checks a value.
   *
   * @throws IllegalArgumentException naming the option where it may not have the value
   */
  public void check(long value) {
    if (!allows(value)) {
      throw new IllegalArgumentException(
          "%s: %d is not between %d and %d".formatted(name, value, lowest, highest));
    }
  }
}
