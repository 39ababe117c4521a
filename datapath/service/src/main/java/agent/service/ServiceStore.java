package agent.service;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Keeps services over restarts. A call that changes one does not wait for the disk: what it returns
 * completes, on the thread that owns the disk, when the change is durable, and fails where it is
 * not made. Calls for one service follow each other's completion.
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
  CompletableFuture<Void> save(Service service);

  /** Removes the record of a service; one that does not exist is not an error. */
  CompletableFuture<Void> remove(int id);
}
