package agent.dns;

import agent.types.IpAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Looks a name up. */
@FunctionalInterface
public interface NameResolver {
  /**
   * An answer.
   *
   * @param addresses in any order; none where the name has none
   * @param ttlSec the least time to live of its records; 0 without addresses
   * @param aliases the names that lead from the one that was asked to the addresses, in lower case
   */
  record Resolved(List<IpAddress> addresses, long ttlSec, List<String> aliases) {
    /** Creates an answer without aliases. */
    public Resolved(List<IpAddress> addresses, long ttlSec) {
      this(addresses, ttlSec, List.of());
    }
  }

  /**
   * Looks a name up; the call does not wait.
   *
   * @param name with a dot at the end
   * @return the answer; fails in bounded time with a sentence where no server answers
   */
  CompletableFuture<Resolved> resolve(String name);
}
