package agent.launcher.options;

import agent.types.NumberOption;
import java.util.List;
import java.util.Locale;

/**
 * One row of the option table.
 *
 * @param name long name without dashes, as in the contract
 * @param shortName one letter, or 0 where there is none
 * @param type form of the value
 * @param defaultText default as text; empty: no value, false or an empty collection
 * @param group group of the help text
 * @param meaning its line in the help text
 * @param choices the allowed values; an empty list allows every value of the type
 * @param minimum lowest number of an INT or DURATION (seconds)
 * @param maximum highest number of an INT or DURATION (seconds)
 * @param needs what this version lacks for the option; null where it serves the option
 * @param inert values that an option may have although it is not served, because they request
 *     nothing
 * @param isLive whether it changes while the agent runs, on SIGHUP
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
    String needs,
    List<String> inert,
    boolean isLive) {

  /** What an option needs whose row does not say it. */
  static final String LATER = "a later version of the agent";

  static AgentOption served(
      OptionGroup group, String name, OptionType type, String defaultText, String meaning) {
    return later(group, name, type, defaultText, meaning).needing(null);
  }

  /** Returns a row of what a part of the agent declares. */
  static AgentOption served(
      OptionGroup group, NumberOption number, OptionType type, String meaning) {
    return served(group, number.name(), type, Integer.toString(number.standard()), meaning)
        .withRange(number.lowest(), number.highest());
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
        LATER,
        List.of(),
        false);
  }

  AgentOption withShort(char letter) {
    return with(letter, choices, minimum, maximum, needs, inert, isLive);
  }

  AgentOption withChoices(String... values) {
    return with(shortName, List.of(values), minimum, maximum, needs, inert, isLive);
  }

  AgentOption withRange(long lowest, long highest) {
    return with(shortName, choices, lowest, highest, needs, inert, isLive);
  }

  AgentOption withInert(String... values) {
    return with(shortName, choices, minimum, maximum, needs, List.of(values), isLive);
  }

  /** Names the part that the option needs, in words of an operator. */
  AgentOption needing(String part) {
    return with(shortName, choices, minimum, maximum, part, inert, isLive);
  }

  /** Says that the option changes while the agent runs. */
  AgentOption live() {
    return with(shortName, choices, minimum, maximum, needs, inert, true);
  }

  private AgentOption with(
      char letter,
      List<String> values,
      long lowest,
      long highest,
      String part,
      List<String> nothing,
      boolean changes) {
    return new AgentOption(
        name,
        letter,
        type,
        defaultText,
        group,
        meaning,
        values,
        lowest,
        highest,
        part,
        nothing,
        changes);
  }

  /** Returns whether this version implements the option. */
  public boolean served() {
    return needs == null;
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
