package agent.endpoint.state;

/** The states of an endpoint; {@link EndpointTransitions} defines the transitions. */
public enum EndpointState {
  /** The identity of its labels has not arrived. */
  WAITING_FOR_IDENTITY("waiting-for-identity"),
  /** It waits for a build of its programs or policy. */
  WAITING_TO_REGENERATE("waiting-to-regenerate"),
  /** Its programs or policy are being built. */
  REGENERATING("regenerating"),
  /** The requested configuration and policy are enforced. */
  READY("ready"),
  /** The last build failed; a retry is scheduled. */
  NOT_READY("not-ready"),
  /** Loaded from the state directory after a restart. */
  RESTORING("restoring"),
  /** It is being removed. */
  DISCONNECTING("disconnecting"),
  /** It is removed. */
  DISCONNECTED("disconnected"),
  /** It cannot be restored; only DELETE is accepted. */
  INVALID("invalid");

  private final String text;

  EndpointState(String text) {
    this.text = text;
  }

  /** Returns the name of the contract. */
  public String text() {
    return text;
  }
}
