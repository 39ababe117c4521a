package agent.endpoint.state;

import agent.types.Refusal;

/**
 * Selects the forwarded packets that are traced; the ordinals are the numbers of {@code enum
 * aggregation_level}.
 */
public enum MonitorAggregation {
  /** Every packet. */
  NONE("None"),
  /** New flows, TCP state changes, and about one packet a second of a flow. */
  LOW("Low"),
  /** New flows and TCP state changes. */
  MEDIUM("Medium"),
  /** New flows. */
  MAXIMUM("Maximum");

  private final String text;

  MonitorAggregation(String text) {
    this.text = text;
  }

  /** Returns the name of the contract. */
  public String text() {
    return text;
  }

  /**
   * Reads a level.
   *
   * @param field the field of the request
   * @param text the name; case-insensitive
   * @return the level
   * @throws Refusal INVALID
   */
  public static MonitorAggregation parse(String field, String text) {
    for (final MonitorAggregation level : values()) {
      if (level.text.equalsIgnoreCase(text)) {
        return level;
      }
    }
    throw Refusal.invalid(field, "'" + text + "' is not one of None, Low, Medium, Maximum");
  }
}
