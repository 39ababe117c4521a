package agent.endpoint.state;

/**
 * The health of one endpoint.
 *
 * @param bpf health of its programs
 * @param policy health of its policy
 * @param overall the worse of the two
 * @param connected whether its programs are attached and its interface exists
 */
public record EndpointHealth(
    HealthLevel bpf, HealthLevel policy, HealthLevel overall, boolean connected) {

  /** The health values of the contract. */
  public enum HealthLevel {
    /** All components operational. */
    OK("OK"),
    /** The component is being created. */
    BOOTSTRAP("Bootstrap"),
    /** A change is being applied. */
    PENDING("Pending"),
    /** The previous configuration is applied, not the requested one. */
    WARNING("Warning"),
    /** No configuration is applied. */
    FAILURE("Failure"),
    /** The endpoint handles no traffic. */
    DISABLED("Disabled");

    private final String text;

    HealthLevel(String text) {
      this.text = text;
    }

    /** Returns the value of the contract. */
    public String text() {
      return text;
    }
  }
}
