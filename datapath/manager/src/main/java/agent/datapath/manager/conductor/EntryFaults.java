package agent.datapath.manager.conductor;

import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointFaults.Part;
import agent.maps.kernel.BpfMap;
import agent.reconcile.MapFaults;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The faults of a map whose entries are of one endpoint each: what a comparison has repaired is
 * named by entry, and not by a count. They end with the first comparison that finds no difference.
 */
final class EntryFaults implements MapFaults {
  private static final Logger LOGGER = LogManager.getLogger(EntryFaults.class);

  private final KernelFaults faults;
  private final String compared;
  private final List<String> repaired = new ArrayList<>();

  EntryFaults(BpfMap map, KernelFaults faults) {
    this.faults = faults;
    compared = "map " + map.name();
  }

  /**
   * Adds the fault of an entry that is repaired.
   *
   * @param endpointId the endpoint of the entry, or 0
   * @param subject the name of the entry
   * @param found what was found
   */
  void repaired(int endpointId, String subject, String found) {
    if (!repaired.contains(subject)) {
      repaired.add(subject);
    }
    faults.degraded(endpointId, Part.PROGRAMS, subject, found);
    LOGGER.warn("{}: {}; repaired", subject, found);
  }

  @Override
  public void degraded(String subject, String found) {
    if (!subject.equals(compared)) {
      faults.degraded(subject, found);
    }
  }

  @Override
  public void failed(String subject, String found) {
    faults.failed(subject, found);
  }

  @Override
  public void clear(String subject) {
    faults.clear(subject);
    if (subject.equals(compared)) {
      repaired.forEach(faults::clear);
      repaired.clear();
    }
  }
}
