package agent.datapath.spec;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.OptionalLong;

/**
 * The source prefixes that XDP drops. Thread-safe. A change blocks its caller until it is enforced
 * and stored; changes are serialized.
 */
public interface Prefilter {
  /**
   * Returns the enforced list. Where the stored list cannot be read, it is the one that the kernel
   * holds, with revision 0, and every change fails. Without a prefilter device it is empty.
   */
  PrefilterList get();

  /**
   * Adds prefixes; prefixes that are already listed are ignored. The revision rises only where the
   * list changes.
   *
   * @param revision where present, the revision that the caller has read
   * @param prefixes of either family
   * @return the new list
   * @throws Refusal DISABLED without a device, STALE for another revision, INVALID for a disabled
   *     address family, OVER_LIMIT or EXHAUSTED where it is too long; the list is unchanged
   * @throws agent.types.OperationException where the kernel or the store fails; the list is
   *     unchanged
   */
  PrefilterList add(OptionalLong revision, List<Prefix> prefixes);

  /**
   * Removes prefixes; unlisted prefixes are ignored. Parameters and failures are those of {@link
   * #add}.
   */
  PrefilterList remove(OptionalLong revision, List<Prefix> prefixes);

  /** The XDP mode, {@code --prefilter-mode} (agent-api.md, start-up options). */
  enum PrefilterMode {
    /** The driver runs the program. */
    NATIVE,
    /** The network stack runs the program, for drivers without XDP support. */
    GENERIC
  }
}
