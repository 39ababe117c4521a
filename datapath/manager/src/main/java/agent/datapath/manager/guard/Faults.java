package agent.datapath.manager.guard;

import agent.datapath.manager.spec.ModuleHealth.Level;
import agent.datapath.manager.thread.HealthBoard;
import java.util.TreeMap;

/**
 * The faults of one module that exist now, by subject. A fault is reported when it is found and
 * cleared when its cause has ended, so that the health of the module is what is so now.
 * Thread-safe.
 */
public final class Faults implements HealthBoard.Probe {
  private final String okMessage;
  private final TreeMap<String, HealthBoard.Reading> current = new TreeMap<>();

  /**
   * Creates a module without faults.
   *
   * @param okMessage message of the module while there is no fault
   */
  public Faults(String okMessage) {
    this.okMessage = okMessage;
  }

  /** Adds the fault of a subject, or replaces it: something is wrong and the agent works on it. */
  public synchronized void degraded(String subject, String message) {
    current.put(subject, HealthBoard.Reading.degraded(message));
  }

  /** Adds the fault of a subject, or replaces it: the agent cannot repair it. */
  public synchronized void failed(String subject, String message) {
    current.put(subject, HealthBoard.Reading.stopped(message));
  }

  /** Removes the fault of a subject, if there is one. */
  public synchronized void clear(String subject) {
    current.remove(subject);
  }

  /** Returns the worst level, with the message of the first fault of that level. */
  @Override
  public synchronized HealthBoard.Reading read() {
    HealthBoard.Reading worst = null;
    for (final HealthBoard.Reading reading : current.values()) {
      if (worst == null || worst.level() == Level.DEGRADED && reading.level() == Level.STOPPED) {
        worst = reading;
      }
    }
    if (worst == null) {
      return HealthBoard.Reading.ok(okMessage);
    }
    final int others = current.size() - 1;
    return others == 0
        ? worst
        : new HealthBoard.Reading(worst.level(), worst.message() + " (and " + others + " more)");
  }
}
