package agent.node;

import agent.node.Devices.Device;
import agent.types.IpAddress;
import agent.types.Prefix;

/**
 * The changes of devices, addresses, routes and parameters of a network namespace. For one thread
 * at a time.
 */
public interface NodeEvents extends AutoCloseable {
  /** There are no events; changes are found by comparisons only. */
  NodeEvents NONE =
      new NodeEvents() {
        @Override
        public int descriptor() {
          return -1;
        }

        @Override
        public int poll(Handler handler, int limit) {
          return 0;
        }

        @Override
        public void close() {}
      };

  /** Receives the events. */
  interface Handler {
    /** A device was added or changed. */
    void onDevice(Device device);

    /** A device was removed, or moved to another namespace; another one may have its index now. */
    void onDeviceRemoved(int index, String name);

    /** An address was added or removed. */
    void onAddress();

    /**
     * A route to a single address was added or removed.
     *
     * @param destination the address
     * @param deviceIndex the device of the route
     * @param isOwnAdded whether it was added, and by this agent
     */
    void onRoute(IpAddress destination, int deviceIndex, boolean isOwnAdded);

    /**
     * A destination was added to or removed from the local routing table; another device may have
     * the same one.
     */
    void onLocalRoute(Prefix destination, boolean isAdded);

    /** A parameter such as forwarding was changed. */
    void onParameter();

    /** Events were lost: everything must be compared. */
    void onLost();
  }

  /** Returns a descriptor that is readable while events are available, or -1. */
  int descriptor();

  /**
   * Passes available events to a handler; does not wait.
   *
   * @param limit the largest number of datagrams to read
   * @return the number of datagrams that were read
   */
  int poll(Handler handler, int limit);

  @Override
  void close();
}
