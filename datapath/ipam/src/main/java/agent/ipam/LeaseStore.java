package agent.ipam;

import java.util.List;

/** Keeps the leases over restarts. A call returns when they are safe, and throws where not. */
public interface LeaseStore {
  /** The leases that were saved last; empty where none were. */
  List<Lease> load();

  /**
   * Replaces what is saved.
   *
   * @param leases all leases, by address
   */
  void save(List<Lease> leases);

  /** A store that forgets. */
  static LeaseStore inMemory() {
    return new LeaseStore() {
      @Override
      public List<Lease> load() {
        return List.of();
      }

      @Override
      public void save(List<Lease> leases) {
        // nothing outlives the process
      }
    };
  }
}
