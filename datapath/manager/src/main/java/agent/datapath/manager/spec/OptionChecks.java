package agent.datapath.manager.spec;

/** Checks of options, whose refusals begin with the name of the option. */
final class OptionChecks {
  private OptionChecks() {}

  static void range(String what, int value, int least, int most) {
    final boolean isValid = value >= least && value <= most;
    check(isValid, what + ": " + value + " is not between " + least + " and " + most);
  }

  static void check(boolean isValid, String message) {
    if (!isValid) {
      throw new IllegalArgumentException(message);
    }
  }
}
