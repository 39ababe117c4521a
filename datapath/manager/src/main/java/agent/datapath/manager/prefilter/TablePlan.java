package agent.datapath.manager.prefilter;

import agent.maps.layout.PrefilterGeometry;

/** The words of one table of the prefilter, as a deny list requires them. */
interface TablePlan {
  /** Returns the number of slots, at least 1. */
  int slots();

  /** Returns a word of a slot; its index is below {@link #words()}. Allocates nothing. */
  long word(int index);

  /** Returns the number of words. */
  default int words() {
    return slots() * PrefilterGeometry.WORDS_PER_SLOT;
  }
}
