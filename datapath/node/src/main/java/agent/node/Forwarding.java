package agent.node;

import java.util.List;

/** The kernel parameters that forward the packets of workloads. */
public interface Forwarding {
  /** There are no parameters, in tests without a kernel. */
  Forwarding NONE =
      new Forwarding() {
        @Override
        public List<String> keep() {
          return List.of();
        }

        @Override
        public List<String> keep(String interfaceName) {
          return List.of();
        }
      };

  /**
   * Sets the parameters of the node where they have other values.
   *
   * @return each parameter that was set, with its value before
   * @throws agent.types.OperationException naming the parameter
   */
  List<String> keep();

  /**
   * Sets the parameters of the host side of a workload with an IPv4 address where they have other
   * values; IPv6 forwarding is not set per device.
   *
   * @param interfaceName the host side
   * @return each parameter that was set, with its value before
   * @throws agent.types.OperationException naming the parameter
   */
  List<String> keep(String interfaceName);

  /**
   * Sets the parameters of a device of the network where they have other values: the kernel has set
   * them together with those of the node, and forwards nothing of a device without.
   *
   * @param deviceName the device
   * @return each parameter that was set, with its value before
   * @throws agent.types.OperationException naming the parameter
   */
  default List<String> keepDevice(String deviceName) {
    return List.of();
  }

  /**
   * Sets the MTU of the host side of a workload where an option names one and it has another. The
   * routes of the node to the workload have the same.
   *
   * @param interfaceName the host side
   * @return the MTU that was set, with the one before
   * @throws agent.types.OperationException naming the interface
   */
  default List<String> keepMtu(String interfaceName) {
    return List.of();
  }
}
