package agent.node;

import agent.types.IpAddress;
import agent.types.MacAddress;

/**
 * Asks workloads whether they have an address: by ARP requests and neighbour solicitations to the
 * hardware address of the workload, which pass the programs of the endpoint both ways. For one
 * thread at a time.
 */
public interface AddressProbes extends AutoCloseable {
  /** Receives the answers. */
  @FunctionalInterface
  interface Handler {
    /**
     * A workload has answered.
     *
     * @param deviceIndex the device that received the answer
     * @param isIpv4 the family of the address
     * @param high the upper 64 bits of the address, as {@link IpAddress#high()}
     * @param low the other bits, as {@link IpAddress#low()}
     */
    void onAnswer(int deviceIndex, boolean isIpv4, long high, long low);
  }

  /**
   * Sends one request; does not wait for the answer, and allocates nothing.
   *
   * @param deviceIndex the host side of the workload's veth
   * @param hostMac its hardware address
   * @param mac the hardware address of the workload
   * @param address the address that the workload is asked for
   * @return whether it was sent
   */
  boolean ask(int deviceIndex, MacAddress hostMac, MacAddress mac, IpAddress address);

  /**
   * Passes answers that have arrived to a handler; does not wait, and allocates nothing.
   *
   * @param limit the largest number of answers of a family
   * @return the number of answers
   */
  int receive(Handler handler, int limit);

  @Override
  void close();
}
