package agent.datapath.manager.spec;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The host program on the devices by which packets of the network come in; for any thread. */
public interface DeviceProxy {
  /** There are no devices to guard. */
  DeviceProxy NONE = devices -> CompletableFuture.completedFuture(null);

  /**
   * Attaches the host program to these devices, and detaches it from all others. A device that
   * cannot be guarded does not stop the others.
   *
   * @param devices the interface index of each device, by name
   * @return completes when they are guarded; fails naming the first device that is not
   */
  CompletableFuture<Void> guard(Map<String, Integer> devices);
}
