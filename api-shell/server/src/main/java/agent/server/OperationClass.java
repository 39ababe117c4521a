package agent.server;

/** Operations that share one rate of {@code --api-rate-limit}. */
public enum OperationClass {
  /** Calls that read. */
  READ("read"),
  /** Calls that create, change or delete endpoints. */
  ENDPOINT("endpoint"),
  /** Calls that change the configuration of the daemon. */
  CONFIG("config"),
  /** Calls that allocate or release addresses. */
  IPAM("ipam"),
  /** Calls that change policy. */
  POLICY("policy"),
  /** Calls that change the prefilter. */
  PREFILTER("prefilter"),
  /** Calls that change services. */
  SERVICE("service");

  private final String text;

  OperationClass(String text) {
    this.text = text;
  }

  /** Returns the name in the option. */
  public String text() {
    return text;
  }
}
