package agent.datapath.guard;

import agent.conductor.Repairs;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * One map whose repaired entries are counted and reported, until a round finds no difference. For
 * the conductor's thread.
 */
public final class Subject {
  private static final Logger LOGGER = LogManager.getLogger(Subject.class);

  private final String name;
  private final String found;
  private final KernelFaults faults;
  private final Repairs repairs;
  private int repairedInRound;
  private boolean isFaulty;

  /**
   * Creates a subject without fault.
   *
   * @param name for messages, such as {@code map flow_usage}
   * @param found what a difference is, in the plural
   */
  public Subject(String name, String found, KernelFaults faults, Repairs repairs) {
    this.name = name;
    this.found = found;
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Reports a number of entries that a step has repaired, or none. */
  public Check.Progress repaired(int entries) {
    if (entries == 0) {
      return Check.Progress.COMPARED;
    }
    isFaulty = true;
    repairedInRound += entries;
    repairs.count(Repairs.Kind.MAP_ENTRY, entries);
    faults.degraded(0, null, name, repairedInRound + " " + found);
    return Check.Progress.REPAIRED;
  }

  /** Ends a round: the fault has ended where the round has found nothing. */
  public void endRound() {
    if (repairedInRound > 0) {
      LOGGER.warn("{}: {} {}; repaired", name, repairedInRound, found);
    } else if (isFaulty) {
      isFaulty = false;
      faults.clear(name);
    }
    repairedInRound = 0;
  }
}
