package agent.reconcile;

/** Keeps the faults of maps that exist now, by subject. */
public interface MapFaults {
  /** Adds or replaces a fault that is repaired or retried. */
  void degraded(String subject, String found);

  /** Adds or replaces a fault that cannot be repaired. */
  void failed(String subject, String found);

  /** Ends the fault of a subject, if there is one. */
  void clear(String subject);
}
