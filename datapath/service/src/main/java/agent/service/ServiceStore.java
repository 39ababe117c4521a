package agent.service;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Keeps services over restarts. A call that changes one returns when the change is on the disk, and
 * throws where it failed.
 */
public interface ServiceStore {
  /**
   * What there is of the previous run.
   *
   * @param services those that can be read
   * @param unreadable why the records of others cannot be read, by id
   */
  record Stored(Collection<Service> services, Map<Integer, String> unreadable) {}

  /** Returns what there is of the previous run. */
  Stored load();

  /**
   * Returns why records cannot be read of services of which others know and that have none, where
   * records may have been lost unnoticed; adds them to those that cannot be read.
   *
   * @param others finds the ids that others know
   */
  default Map<Integer, String> missed(Supplier<Set<Integer>> others) {
    return Map.of();
  }

  /** Writes the record of a service, in place of the one with its id. */
  void save(Service service);

  /** Removes the record of a service; one that does not exist is not an error. */
  void remove(int id);
}
