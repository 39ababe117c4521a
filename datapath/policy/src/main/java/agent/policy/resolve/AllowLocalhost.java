package agent.policy.resolve;

import agent.types.Refusal;

/** When the node may reach its endpoints (option {@code --allow-localhost}). */
public enum AllowLocalhost {
  /** As {@link #POLICY}, unless a feature needs traffic from the node. */
  AUTO("auto"),
  /** Always, unless a deny rule names the node. */
  ALWAYS("always"),
  /** Where a rule allows it. */
  POLICY("policy");

  private final String text;

  AllowLocalhost(String text) {
    this.text = text;
  }

  /**
   * Reads the option's value.
   *
   * @param field the field to name in a refusal
   * @param text the value
   * @return the choice
   * @throws Refusal INVALID
   */
  public static AllowLocalhost parse(String field, String text) {
    for (final AllowLocalhost choice : values()) {
      if (choice.text.equals(text)) {
        return choice;
      }
    }
    throw Refusal.invalid(field, "'" + text + "' is not one of auto, always, policy");
  }
}
