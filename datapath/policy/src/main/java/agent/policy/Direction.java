package agent.policy;

/** Seen from the endpoint; the numbers are those of {@code enum policy_direction}. */
public enum Direction {
  /** Traffic to the endpoint. */
  INGRESS(0, "ingress", "from"),
  /** Traffic from the endpoint. */
  EGRESS(1, "egress", "to");

  private final int number;
  private final String text;
  private final String preposition;

  Direction(int number, String text, String preposition) {
    this.number = number;
    this.text = text;
    this.preposition = preposition;
  }

  /** The number in policy maps. */
  public int number() {
    return number;
  }

  /** {@code ingress} or {@code egress}. */
  public String text() {
    return text;
  }

  /** {@code from} or {@code to}: how the names of peer fields begin. */
  String preposition() {
    return preposition;
  }
}
