package agent.endpoint;

import agent.types.Refusal;

/** Where an endpoint stands; the transition table says what may follow what. */
public enum EndpointState {
  /** Its labels have no identity yet. */
  WAITING_FOR_IDENTITY("waiting-for-identity"),
  /** Its programs or policy are to be built. */
  WAITING_TO_REGENERATE("waiting-to-regenerate"),
  /** They are being built. */
  REGENERATING("regenerating"),
  /** What was asked is enforced. */
  READY("ready"),
  /** The last build failed; it is tried again. */
  NOT_READY("not-ready"),
  /** Read from the state of an earlier life. */
  RESTORING("restoring"),
  /** Being taken down. */
  DISCONNECTING("disconnecting"),
  /** Gone. */
  DISCONNECTED("disconnected"),
  /** Cannot be made to work; only DELETE is left. */
  INVALID("invalid");

  private final String text;

  EndpointState(String text) {
    this.text = text;
  }

  /** The name of the contract. */
  public String text() {
    return text;
  }

  /**
   * Reads the name of a state.
   *
   * @param field the field of the request
   * @param text the name
   * @return the state
   * @throws Refusal INVALID for another name or none
   */
  public static EndpointState parse(String field, String text) {
    if (text == null || text.isEmpty()) {
      throw Refusal.invalid(field, "a state is needed");
    }
    for (final EndpointState state : values()) {
      if (state.text.equals(text)) {
        return state;
      }
    }
    throw Refusal.invalid(field, "'" + text + "' is not a state of an endpoint");
  }
}
