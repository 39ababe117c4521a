package agent.node;

import java.util.List;
import java.util.Optional;

/** The network devices of the agent's namespace. */
public interface Devices {
  /**
   * The device with this name now.
   *
   * @param name a name that {@link InterfaceName#check} accepted
   * @return the device, or empty where there is none
   */
  Optional<Device> byName(String name);

  /**
   * The device with this index now.
   *
   * @param index the index
   * @return the device, or empty where there is none
   */
  Optional<Device> byIndex(int index);

  /** Every device there is now. */
  List<Device> all();
}
