package agent.node;

import java.util.List;
import java.util.Optional;

/** The network devices of the agent's namespace. */
public interface Devices {
  /**
   * Returns the device that has this name now.
   *
   * @param name a name that {@link InterfaceName#check} accepted
   * @return the device, or empty where there is none
   */
  Optional<Device> byName(String name);

  /**
   * Returns the device that has this index now.
   *
   * @param index the index
   * @return the device, or empty where there is none
   */
  Optional<Device> byIndex(int index);

  /** Returns all present devices. */
  List<Device> all();
}
