package agent.datapath.manager.spec;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.OptionalLong;

/**
 * Source prefixes that are dropped at XDP. Thread-safe; a change blocks its caller until it is
 * enforced and stored, and changes follow one another.
 */
public interface Prefilter {
  /**
   * The list that is enforced.
   *
   * @throws Refusal DISABLED where the node has no prefilter device
   */
  PrefilterList get();

  /**
   * Adds prefixes; those that are there already stay.
   *
   * @param revision where present, the revision the caller has seen
   * @param prefixes of either family
   * @return the new list
   * @throws Refusal DISABLED without a device, STALE for another revision, INVALID for a family
   *     that is switched off, EXHAUSTED where the list would not fit, FAILED where the kernel or
   *     the store refused; then nothing has changed
   */
  PrefilterList add(OptionalLong revision, List<Prefix> prefixes);

  /** Removes prefixes; those that are not there are ignored. As {@link #add} otherwise. */
  PrefilterList remove(OptionalLong revision, List<Prefix> prefixes);
}
