package agent.datapath.spec;

import agent.maps.layout.SocketCounter;
import agent.types.IpAddress;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Changes the services of the datapath; only {@code datapath/service} uses it. Any thread may call;
 * what a call returns completes on the thread that changes the maps, unless it waits for the
 * programs, or fails at once.
 */
public interface ServiceProxy {
  /**
   * Numbers of cells of the tables that give a tuple its backend, in ascending order. All are
   * prime, so that each step from cell to cell reaches all of them.
   */
  List<Integer> TABLE_SIZES = List.of(251, 509, 1021, 2039, 4093, 8191, 16_381);

  /** What there is of the programs at sockets. */
  enum Hooks {
    /** An option has switched them off. */
    OFF,
    /** There is no service, so that no program is attached. */
    IDLE,
    /** They are attached. */
    ATTACHED
  }

  /**
   * A frontend that the maps hold of a service that is kept.
   *
   * @param serviceId the service that it belongs to
   * @param address the address that clients use
   * @param port the port that clients use
   * @param protocol the protocol number that clients use
   */
  record KeptFrontend(int serviceId, IpAddress address, int port, int protocol) {}

  /** A service with what its entries in the maps say beyond it, such as its table of backends. */
  interface Placed {
    /** Returns the service. */
    ServiceEntries service();
  }

  /**
   * Queues a command of the owner of the services for the thread that changes the maps.
   *
   * @return completes when it is executed; fails where that thread has ended, or has too many
   */
  CompletableFuture<Void> run(Runnable command);

  /** Returns the numbers of the services that the maps hold; fails where they cannot be read. */
  CompletableFuture<Set<Integer>> known();

  /**
   * Makes the services those given, and removes all others that the maps hold.
   *
   * @param kept ids of services whose entries stay as they are in the maps, since what is wanted of
   *     them is not known; a frontend that one of the given services has becomes that one's
   * @return the frontends that stay; fails where the kernel refuses
   */
  CompletableFuture<List<KeptFrontend>> restore(
      Collection<ServiceEntries> services, Set<Integer> kept);

  /** Computes what {@link #put(Placed)} writes, which takes long where there are many backends. */
  Placed place(ServiceEntries service);

  /**
   * Creates a service or replaces the one with its id. Attaches the programs before the first one.
   *
   * @return fails where the kernel refuses; then the service is as it was
   */
  CompletableFuture<Void> put(Placed service);

  /** Creates or replaces a service as {@link #put(Placed)} does, which is placed before. */
  default CompletableFuture<Void> put(ServiceEntries service) {
    return put(place(service));
  }

  /** Removes a service, also one that is kept; detaches the programs after the last one. */
  CompletableFuture<Void> remove(int id);

  /** Returns what there is of the programs at sockets. */
  Hooks hooks();

  /**
   * Returns the largest number of cells of the tables that give a tuple its backend; 0 where
   * backends are drawn at random.
   */
  int mostCells();

  /**
   * Returns what the programs have counted.
   *
   * @throws agent.maps.kernel.BpfMapException where it cannot be read
   */
  Map<SocketCounter, Long> counters();
}
