package agent.datapath.manager.spec;

import java.util.List;

/**
 * The change of one endpoint's policy map. The order of writing is the conductor's: denies in,
 * allows in, allows out, denies out, so that no moment allows more than before and after both do.
 *
 * @param upserts entries to insert, or whose verdict changes
 * @param deletes entries to remove; only their keys count
 */
public record PolicyMapDelta(List<PolicyMapEntry> upserts, List<PolicyMapEntry> deletes) {
  /** A change that changes nothing. */
  public static final PolicyMapDelta EMPTY = new PolicyMapDelta(List.of(), List.of());

  /** Copies the lists. */
  public PolicyMapDelta {
    upserts = List.copyOf(upserts);
    deletes = List.copyOf(deletes);
  }

  /** Whether there is nothing to write. */
  public boolean isEmpty() {
    return upserts.isEmpty() && deletes.isEmpty();
  }
}
