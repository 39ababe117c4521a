package agent.policy.resolve;

import agent.types.Refusal;

/** When policy is enforced (option {@code --enable-policy}). */
public enum EnforcementMode {
  /** In the directions in which a rule selects the endpoint. */
  DEFAULT("default"),
  /** In both directions for every endpoint. */
  ALWAYS("always"),
  /** Nowhere. */
  NEVER("never");

  private final String text;

  EnforcementMode(String text) {
    this.text = text;
  }

  /** Returns the option's value. */
  public String text() {
    return text;
  }

  /**
   * Reads the option's value.
   *
   * @param field the field to name in a refusal
   * @param text the value
   * @return the mode
   * @throws Refusal INVALID
   */
  public static EnforcementMode parse(String field, String text) {
    for (final EnforcementMode mode : values()) {
      if (mode.text.equals(text)) {
        return mode;
      }
    }
    throw Refusal.invalid(field, "'" + text + "' is not one of default, always, never");
  }
}
