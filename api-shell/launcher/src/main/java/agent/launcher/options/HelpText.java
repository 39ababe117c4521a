package agent.launcher.options;

/** The help text of the daemon, generated from the option table. */
public final class HelpText {
  private static final int COLUMN = 46;

  private HelpText() {}

  /**
   * Writes the text.
   *
   * @return all options by group
   */
  public static String text() {
    final StringBuilder text = new StringBuilder(8192);
    text.append("Usage: agent [OPTION]...\n       agent cleanup [--help]\n\n")
        .append("The network agent of one node. Options come from the command line, from\n")
        .append("AGENT_<NAME> in the environment, and from the --config file, in that order.\n")
        .append("Options marked * are known, but not supported by this version.\n\n")
        .append(
            "Exit codes: 0 stopped by a signal, 1 failure, 2 bad option, 3 another agent uses\n")
        .append("the state directory, the BPF root, the network namespace or the socket.\n");
    for (final OptionGroup group : OptionGroup.values()) {
      text.append('\n').append(group.title()).append(":\n");
      OptionTable.all().stream()
          .filter(option -> option.group() == group)
          .forEach(option -> append(text, option));
    }
    return text.toString();
  }

  private static void append(StringBuilder text, AgentOption option) {
    final String letter = option.shortName() == 0 ? "    " : "-" + option.shortName() + ", ";
    final String name = "--" + option.name();
    final String form = option.type() == OptionType.BOOL ? "" : " " + option.type().label();
    final String left = "  " + letter + name + form + (option.served() ? "" : " *");
    text.append(left);
    if (left.length() >= COLUMN) {
      text.append('\n').append(" ".repeat(COLUMN));
    } else {
      text.append(" ".repeat(COLUMN - left.length()));
    }
    text.append(option.meaning());
    if (!option.choices().isEmpty()) {
      text.append(": ").append(String.join(", ", option.choices()));
    }
    final boolean plainFalse =
        option.type() == OptionType.BOOL && option.defaultText().equals("false");
    if (!option.defaultText().isEmpty() && !plainFalse) {
      text.append(" (default ").append(option.defaultText()).append(')');
    }
    text.append('\n');
  }
}
