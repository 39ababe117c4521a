package agent.reconcile;

/** Compares an array in mapped memory with its desired words, and repairs those that differ. */
final class WordComparison implements MapComparison {
  private static final int WORDS_PER_STEP = 16_384;

  private final DesiredWords words;
  private final String name;
  private final MapFaults faults;
  private boolean isRunning;
  private int next;
  private int repaired;
  private int first;

  WordComparison(DesiredWords words, String name, MapFaults faults) {
    this.words = words;
    this.name = name;
    this.faults = faults;
  }

  /** Notes that a word was written because it differed; each comparison counts anew. */
  void written(int index) {
    first = repaired == 0 ? index : first;
    repaired++;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public MapFaults faults() {
    return faults;
  }

  @Override
  public boolean beginReported() {
    if (!words.isSettled()) {
      return false;
    }
    isRunning = true;
    next = 0;
    repaired = 0;
    return true;
  }

  @Override
  public boolean isReported() {
    return isRunning;
  }

  @Override
  public boolean step() {
    next = words.write(next, WORDS_PER_STEP);
    isRunning = next < words.count();
    return isRunning;
  }

  @Override
  public boolean isRunning() {
    return isRunning;
  }

  @Override
  public int repaired() {
    return repaired;
  }

  @Override
  public String found() {
    return "%d words wrong; first: word %d".formatted(repaired, first);
  }

  @Override
  public RuntimeException failure() {
    return null; // no store is refused
  }

  @Override
  public void onRepaired() {}

  @Override
  public void abandon() {
    isRunning = false;
  }
}
