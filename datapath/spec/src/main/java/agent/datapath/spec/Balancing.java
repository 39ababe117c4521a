package agent.datapath.spec;

import agent.types.AddressPair;

/**
 * The load balancer of a device.
 *
 * @param device its name, {@code --lb}; null: there is none
 * @param sources the outer sources of encapsulated packets; a family without one is left to the
 *     stack
 */
public record Balancing(String device, AddressPair sources) {
  /** No device balances services. */
  public static final Balancing NONE = new Balancing(null, AddressPair.NONE);

  /** Returns whether a device balances services. */
  public boolean isOn() {
    return device != null;
  }
}
