package agent.reconcile;

/** The comparison of one map with what is desired, in slices, which is begun again and again. */
interface MapComparison {
  /** Returns the name of the map, for messages. */
  String name();

  /** Returns where faults of the map are reported. */
  MapFaults faults();

  /**
   * Begins a comparison that counts and reports what it repairs; returns false where it is not
   * known yet what the map is to hold, or a change compares it already.
   */
  boolean beginReported();

  /** Returns whether that comparison has not given way to a change. */
  boolean isReported();

  /** Compares one slice; returns whether another like it follows. */
  boolean step();

  /** Returns whether a comparison has begun and is not complete. */
  boolean isRunning();

  /** Returns the number of differences that this comparison has repaired until now. */
  int repaired();

  /** Returns what was found, for messages. */
  String found();

  /** Returns the failure that ended the last comparison early, or null. */
  RuntimeException failure();

  /** Handles that differences were repaired. */
  void onRepaired();

  /** Ends the comparison in progress. */
  void abandon();
}
