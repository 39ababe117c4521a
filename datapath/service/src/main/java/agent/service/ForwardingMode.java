package agent.service;

import agent.maps.layout.ServiceForwarding;
import agent.types.Refusal;

/** How packets of clients outside reach a backend on another host, with the names of the API. */
public enum ForwardingMode {
  /** With an address of this node, to which the backend answers. */
  SNAT("snat", ServiceForwarding.SNAT),
  /** Encapsulated; the backend answers the client itself (direct server return). */
  DSR("dsr", ServiceForwarding.DSR);

  private final String text;
  private final ServiceForwarding forwarding;

  ForwardingMode(String text, ServiceForwarding forwarding) {
    this.text = text;
    this.forwarding = forwarding;
  }

  /** Returns the name in the API. */
  public String text() {
    return text;
  }

  /** Returns the mode in the datapath. */
  ServiceForwarding forwarding() {
    return forwarding;
  }

  /**
   * Returns the mode of a name.
   *
   * @throws Refusal INVALID naming the field, for any other name
   */
  public static ForwardingMode parse(String field, String name) {
    for (final ForwardingMode mode : values()) {
      if (mode.text.equals(name)) {
        return mode;
      }
    }
    throw Refusal.invalid(field, "'" + name + "' is not snat or dsr");
  }
}
