package agent.node;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The nodes of the cluster, and for each client what has changed in them since its last request. A
 * client that is not heard of for five minutes is forgotten, and of very many clients the one that
 * was heard of first. Thread-safe.
 */
public final class ClusterNodes {
  private static final long FORGOTTEN_AFTER_NS = TimeUnit.MINUTES.toNanos(5);
  static final int MOST_CLIENTS = 1024;

  /** Numbers up to this one are exact in every JSON parser (RFC 8259, section 6). */
  private static final long LARGEST_ID = (1L << 53) - 1;

  private final Supplier<List<ClusterNode>> nodes;
  private final LongSupplier clockNs;
  private final Map<Long, Client> clients = new LinkedHashMap<>(16, 0.75f, true);
  private final long unassigned = newId();

  private record Client(long heardNs, List<ClusterNode> seen) {}

  /**
   * The answer to a client.
   *
   * @param clientId the number for its next request
   * @param added the nodes that are new to the client, or not as it knows them
   * @param removed the nodes that are gone, or not as the client knows them
   */
  public record Changes(long clientId, List<ClusterNode> added, List<ClusterNode> removed) {}

  /**
   * Creates the list without clients.
   *
   * @param nodes reads the nodes as they are now
   * @param clockNs the time
   */
  public ClusterNodes(Supplier<List<ClusterNode>> nodes, LongSupplier clockNs) {
    this.nodes = nodes;
    this.clockNs = clockNs;
  }

  /** Returns a number that no client has: who sends it gets all nodes and a number of its own. */
  public long unassignedId() {
    return unassigned;
  }

  /**
   * Returns what has changed since the last request of the client. A client without a number, and
   * one whose number is not known, gets all nodes and a new number.
   *
   * @param clientId the number from the client's last answer; 0 for none
   */
  public synchronized Changes changesFor(long clientId) {
    final long nowNs = clockNs.getAsLong();
    forgetLate(nowNs);
    final Client client = clients.get(clientId);
    if (client == null && clients.size() == MOST_CLIENTS) {
      clients.remove(clients.keySet().iterator().next());
    }
    final List<ClusterNode> before = client == null ? List.of() : client.seen();
    final List<ClusterNode> now = List.copyOf(nodes.get());
    final long id = client == null ? newId() : clientId;
    clients.put(id, new Client(nowNs, now));
    return new Changes(id, without(now, before), without(before, now));
  }

  private static List<ClusterNode> without(List<ClusterNode> list, List<ClusterNode> others) {
    final List<ClusterNode> rest = new ArrayList<>(list);
    rest.removeAll(others);
    return rest;
  }

  private void forgetLate(long nowNs) {
    final Iterator<Client> oldest = clients.values().iterator();
    while (oldest.hasNext() && nowNs - oldest.next().heardNs() > FORGOTTEN_AFTER_NS) {
      oldest.remove();
    }
  }

  private long newId() {
    long id;
    do {
      id = ThreadLocalRandom.current().nextLong(1, LARGEST_ID);
    } while (id == unassigned || clients.containsKey(id));
    return id;
  }
}
