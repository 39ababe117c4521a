package agent.endpoint;

/** In which directions policy is enforced: the value of {@code policy-enabled}. */
public enum PolicyEnforcement {
  /** In neither. */
  NONE("none"),
  /** On traffic to the endpoint. */
  INGRESS("ingress"),
  /** On traffic from the endpoint. */
  EGRESS("egress"),
  /** In both. */
  BOTH("both");

  private final String text;

  PolicyEnforcement(String text) {
    this.text = text;
  }

  /** The value of the contract. */
  public String text() {
    return text;
  }

  /** The value for these directions. */
  public static PolicyEnforcement of(boolean ingress, boolean egress) {
    if (ingress) {
      return egress ? BOTH : INGRESS;
    }
    return egress ? EGRESS : NONE;
  }
}
