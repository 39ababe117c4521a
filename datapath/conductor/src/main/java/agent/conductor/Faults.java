package agent.conductor;

import agent.conductor.ModuleHealth.Level;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The faults of one module that exist now, by subject. A fault is reported when it is found and
 * cleared when its cause has ended, so that the health of the module is what is so now.
 * Thread-safe.
 */
public final class Faults implements HealthBoard.Probe {
  private static final String SEPARATOR = "; ";

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

  /** Returns the worst level, with the messages of all faults, those of that level first. */
  @Override
  public synchronized HealthBoard.Reading read() {
    if (current.isEmpty()) {
      return HealthBoard.Reading.ok(okMessage);
    }
    final String failed = messages(Level.STOPPED);
    final String degraded = messages(Level.DEGRADED);
    if (failed.isEmpty()) {
      return HealthBoard.Reading.degraded(degraded);
    }
    return HealthBoard.Reading.stopped(degraded.isEmpty() ? failed : failed + SEPARATOR + degraded);
  }

  private String messages(Level level) {
    return current.values().stream()
        .filter(reading -> reading.level() == level)
        .map(HealthBoard.Reading::message)
        .collect(Collectors.joining(SEPARATOR));
  }
}
