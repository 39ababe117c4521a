package agent.ipam;

import java.util.List;

/**
 * Keeps the leases over restarts. A call returns when they are on the disk, and throws where it
 * failed.
 */
public interface LeaseStore {
  /**
   * Returns the leases that were saved last; empty where none were.
   *
   * @throws agent.types.UnreadableStateException where there are some that cannot be read
   */
  List<Lease> load();

  /**
   * Replaces the saved leases.
   *
   * @param leases all leases, by address
   */
  void save(List<Lease> leases);

  /** Returns a store in memory, for tests: it keeps its content until the process ends. */
  static LeaseStore inMemory() {
    return new LeaseStore() {
      private List<Lease> saved = List.of();

      @Override
      public synchronized List<Lease> load() {
        return saved;
      }

      @Override
      public synchronized void save(List<Lease> leases) {
        saved = List.copyOf(leases);
      }
    };
  }
}
