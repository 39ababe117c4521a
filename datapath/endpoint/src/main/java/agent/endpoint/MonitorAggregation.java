package agent.endpoint;

import agent.types.Refusal;

/** Which forwarded packets are traced; ordinals are {@code enum aggregation_level}'s numbers. */
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

  /** The name of the contract. */
  public String text() {
    return text;
  }

  /**
   * Reads a level.
   *
   * @param field the field of the request
   * @param text the name; case does not count
   * @return the level
   * @throws Refusal INVALID
   */
  public static MonitorAggregation parse(String field, String text) {
    for (final MonitorAggregation level : values()) {
      if (level.text.equalsIgnoreCase(text)) {
        return level;
      }
    }
    throw Refusal.invalid(field, "'" + text + "' is none of None, Low, Medium, Maximum");
  }
}
