package agent.launcher.options;

import java.util.List;
import java.util.Locale;

/**
 * One row of the option table.
 *
 * @param name long name without dashes, as the contract spells it
 * @param shortName one letter, or 0 where there is none
 * @param type form of the value
 * @param defaultText default in the form in which it is given; empty for none, false or an empty
 *     collection
 * @param group group of the help text
 * @param meaning one line for the help text
 * @param choices the values there are, or an empty list where any value of the type will do
 * @param minimum lowest number of an INT or DURATION (seconds)
 * @param maximum highest number of an INT or DURATION (seconds)
 * @param served whether this version does what the option says
 * @param inert values of an option that is not served which ask for nothing
 */
public record AgentOption(
    String name,
    char shortName,
    OptionType type,
    String defaultText,
    OptionGroup group,
    String meaning,
    List<String> choices,
    long minimum,
    long maximum,
    boolean served,
    List<String> inert) {

  static AgentOption served(
      OptionGroup group, String name, OptionType type, String defaultText, String meaning) {
    return new AgentOption(
        name,
        '\0',
        type,
        defaultText,
        group,
        meaning,
        List.of(),
        0,
        Integer.MAX_VALUE,
        true,
        List.of());
  }

  static AgentOption later(
      OptionGroup group, String name, OptionType type, String defaultText, String meaning) {
    return new AgentOption(
        name,
        '\0',
        type,
        defaultText,
        group,
        meaning,
        List.of(),
        0,
        Integer.MAX_VALUE,
        false,
        List.of());
  }

  AgentOption withShort(char letter) {
    return new AgentOption(
        name, letter, type, defaultText, group, meaning, choices, minimum, maximum, served, inert);
  }

  AgentOption withChoices(String... values) {
    return new AgentOption(
        name,
        shortName,
        type,
        defaultText,
        group,
        meaning,
        List.of(values),
        minimum,
        maximum,
        served,
        inert);
  }

  AgentOption withRange(long lowest, long highest) {
    return new AgentOption(
        name,
        shortName,
        type,
        defaultText,
        group,
        meaning,
        choices,
        lowest,
        highest,
        served,
        inert);
  }

  AgentOption withInert(String... values) {
    return new AgentOption(
        name,
        shortName,
        type,
        defaultText,
        group,
        meaning,
        choices,
        minimum,
        maximum,
        served,
        List.of(values));
  }

  /**
   * The name of this option in the environment.
   *
   * @return for example {@code AGENT_STATE_DIR}
   */
  public String environmentName() {
    return "AGENT_" + name.toUpperCase(Locale.ROOT).replace('-', '_');
  }
}
