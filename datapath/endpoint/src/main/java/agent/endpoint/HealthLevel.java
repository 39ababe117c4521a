package agent.endpoint;

/** The health values of the contract. */
public enum HealthLevel {
  /** All components operational. */
  OK("OK"),
  /** The component is being created. */
  BOOTSTRAP("Bootstrap"),
  /** A change is being applied. */
  PENDING("Pending"),
  /** The previous version is applied, not the one asked for. */
  WARNING("Warning"),
  /** Nothing is applied. */
  FAILURE("Failure"),
  /** The endpoint handles no traffic. */
  DISABLED("Disabled");

  private final String text;

  HealthLevel(String text) {
    this.text = text;
  }

  /** The value of the contract. */
  public String text() {
    return text;
  }
}
