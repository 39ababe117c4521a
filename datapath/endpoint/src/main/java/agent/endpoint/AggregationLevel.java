package agent.endpoint;

import agent.terms.Refusal;

/** How many trace events are merged; the ordinal is the number that the programs take. */
public enum AggregationLevel {
  /** An event for each packet. */
  NONE("None"),
  /** An event for each packet to a workload. */
  LOW("Low"),
  /** An event for each new flow and each change of its flags. */
  MEDIUM("Medium"),
  /** An event for each new flow. */
  MAXIMUM("Maximum");

  private final String text;

  AggregationLevel(String text) {
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
  public static AggregationLevel parse(String field, String text) {
    for (final AggregationLevel level : values()) {
      if (level.text.equalsIgnoreCase(text)) {
        return level;
      }
    }
    throw Refusal.invalid(field, "'" + text + "' is none of None, Low, Medium, Maximum");
  }
}
