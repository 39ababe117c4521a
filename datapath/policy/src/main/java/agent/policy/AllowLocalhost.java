package agent.policy;

import agent.types.Refusal;

/** When the node itself may reach its endpoints (option {@code --allow-localhost}). */
public enum AllowLocalhost {
  /** As {@link #POLICY}, as long as no feature needs the node in between. */
  AUTO("auto"),
  /** Always, unless a deny rule names it. */
  ALWAYS("always"),
  /** Where a rule allows it. */
  POLICY("policy");

  private final String text;

  AllowLocalhost(String text) {
    this.text = text;
  }

  /** The option's value. */
  public String text() {
    return text;
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
    throw Refusal.invalid(field, "'" + text + "' is none of auto, always, policy");
  }
}
