package agent.endpoint.state;

/** The directions in which policy is enforced: the value of {@code policy-enabled}. */
public enum PolicyEnforcement {
  /** Neither direction. */
  NONE("none"),
  /** Traffic to the endpoint. */
  INGRESS("ingress"),
  /** Traffic from the endpoint. */
  EGRESS("egress"),
  /** Both directions. */
  BOTH("both");

  private final String text;

  PolicyEnforcement(String text) {
    this.text = text;
  }

  /** Returns the value of the contract. */
  public String text() {
    return text;
  }

  /** Returns the value for these directions. */
  public static PolicyEnforcement of(boolean ingress, boolean egress) {
    if (ingress) {
      return egress ? BOTH : INGRESS;
    }
    return egress ? EGRESS : NONE;
  }
}
