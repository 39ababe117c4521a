package agent.datapath.spec;

import agent.types.AddressPair;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The host program on the devices by which packets of the network come in; for any thread. */
public interface DeviceProxy {
  /** There are no devices to guard. */
  DeviceProxy NONE =
      new DeviceProxy() {
        @Override
        public CompletableFuture<Void> guard(Map<String, Integer> devices) {
          return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletableFuture<Void> masquerade(Map<String, AddressPair> addresses) {
          return CompletableFuture.completedFuture(null);
        }
      };

  /**
   * Attaches the host program to these devices, and detaches it from all others. A device that
   * cannot be guarded does not stop the others.
   *
   * @param devices the interface index of each device, by name
   * @return completes when they are guarded; fails naming the first device that is not
   */
  CompletableFuture<Void> guard(Map<String, Integer> devices);

  /**
   * Masquerades new flows of workloads through a guarded device by an address of the device. Those
   * by a device without one keep the address of their workload; running flows keep what they have.
   *
   * @param addresses by the name of the device
   * @return completes when the programs know them
   */
  CompletableFuture<Void> masquerade(Map<String, AddressPair> addresses);
}
