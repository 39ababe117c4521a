package agent.state;

/** Names of files that are the numbers of what is in them. */
final class NumberedFiles {
  private NumberedFiles() {}

  /**
   * Returns the number that a file name tells, 1 to a largest one; 0 where it is not such a name.
   */
  static int numberOf(String name, int largest) {
    try {
      final int number = Integer.parseInt(name);
      return number >= 1 && number <= largest && name.equals(Integer.toString(number)) ? number : 0;
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
