package agent.ipcache;

import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy;
import agent.datapath.manager.spec.IpcacheProxy.IpcacheChange;
import agent.identity.ReservedIdentity;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.stream.Stream;

/**
 * The only owner of the ipcache. Every entry of the two kernel maps comes from a source in this
 * table, and only differences to the kernel are written: an unchanged entry causes no write. Runs
 * on the owner's thread. Every method returns a future that completes when the kernel holds the
 * entries. After a failed write the future fails, and the next call first compares the whole table
 * with the kernel.
 */
public final class Ipcache {
  /** No address has the identity of a prefix for the moment until that of a longer one is added. */
  private static final Comparator<IpcacheEntry> LONGEST_FIRST =
      Comparator.comparingInt((IpcacheEntry entry) -> entry.prefix().length()).reversed();

  /**
   * Prefixes whose packets the node's own sockets receive on every link: link-local unicast (RFC
   * 4291), multicast and broadcast. They are not addresses of this node, so workloads may use them
   * as source.
   */
  private static final List<IpcacheEntry> LINK_SCOPE =
      Stream.of("fe80::/10", "ff00::/8", "224.0.0.0/4", "255.255.255.255/32")
          .map(
              prefix ->
                  new IpcacheEntry(Prefix.parse(prefix), ReservedIdentity.HOST.id(), 0, false))
          .toList();

  private final IpcacheTable table = new IpcacheTable();
  private final IpcacheProxy kernel;
  private final Executor owner;
  private volatile boolean isOutdated = true;
  private CompletableFuture<Void> comparison;

  /**
   * Creates an empty table; the first call reads the entries of the kernel.
   *
   * @param kernel writes the maps
   * @param owner runs tasks on the owner's thread
   */
  public Ipcache(IpcacheProxy kernel, Executor owner) {
    this.kernel = kernel;
    this.owner = owner;
  }

  /** Adds or changes the entries of an endpoint's addresses. */
  public CompletableFuture<Void> putEndpoint(
      int endpointId, int identity, Collection<IpAddress> addresses) {
    return put(IpcacheSource.ENDPOINT, endpointEntries(endpointId, identity, addresses));
  }

  /** Removes the entries of an endpoint's addresses. */
  public CompletableFuture<Void> removeEndpoint(Collection<IpAddress> addresses) {
    return remove(IpcacheSource.ENDPOINT, addresses.stream().map(Prefix::of).toList());
  }

  /** Adds or changes the entries of prefixes outside, each with its identity. */
  public CompletableFuture<Void> putOutside(Map<Prefix, Integer> identities) {
    final List<IpcacheEntry> entries = outsideEntries(identities);
    entries.sort(LONGEST_FIRST);
    return put(IpcacheSource.OUTSIDE, entries);
  }

  /** Removes the entries of prefixes outside that no rule means any more. */
  public CompletableFuture<Void> removeOutside(List<Prefix> prefixes) {
    return remove(IpcacheSource.OUTSIDE, prefixes);
  }

  /** Replaces the entries of the prefixes whose packets this node receives. */
  public CompletableFuture<Void> setNode(Set<Prefix> prefixes) {
    final Map<Prefix, IpcacheEntry> wanted = new HashMap<>();
    nodeEntries(prefixes).forEach(entry -> wanted.put(entry.prefix(), entry));
    final Set<Prefix> touched = new TreeSet<>();
    for (final Prefix prefix : table.prefixes(IpcacheSource.NODE)) {
      if (!wanted.containsKey(prefix)) {
        table.remove(IpcacheSource.NODE, prefix);
        touched.add(prefix);
      }
    }
    for (final IpcacheEntry entry : wanted.values()) {
      if (!table.has(IpcacheSource.NODE, entry.prefix())) {
        table.put(IpcacheSource.NODE, entry);
        touched.add(entry.prefix());
      }
    }
    return write(withCovered(touched));
  }

  /** Adds the entry of a prefix whose packets this node receives now. */
  public CompletableFuture<Void> addNode(Prefix prefix) {
    if (table.has(IpcacheSource.NODE, prefix)) {
      return CompletableFuture.completedFuture(null);
    }
    table.put(IpcacheSource.NODE, nodeEntry(prefix));
    return write(withCovered(Set.of(prefix)));
  }

  /** Adds the prefixes outside below prefixes of the node: they are the node's, too. */
  private Set<Prefix> withCovered(Set<Prefix> touched) {
    final Set<Prefix> all = new TreeSet<>(touched);
    for (final Prefix prefix : touched) {
      if (!prefix.isSingleAddress()) {
        all.addAll(table.below(IpcacheSource.OUTSIDE, prefix));
      }
    }
    return all;
  }

  /** Returns whether the address is an address of this node. */
  public boolean isNode(IpAddress address) {
    return table.has(IpcacheSource.NODE, Prefix.of(address));
  }

  /** Adds the entries of an endpoint without writing them; {@link #compare()} writes them. */
  public void stageEndpoint(int endpointId, int identity, Collection<IpAddress> addresses) {
    endpointEntries(endpointId, identity, addresses)
        .forEach(entry -> table.put(IpcacheSource.ENDPOINT, entry));
  }

  /**
   * Adds entries of prefixes outside and of the node's addresses without writing them; {@link
   * #compare()} writes them.
   */
  public void stage(Map<Prefix, Integer> identities, Set<Prefix> nodePrefixes) {
    outsideEntries(identities).forEach(entry -> table.put(IpcacheSource.OUTSIDE, entry));
    nodeEntries(nodePrefixes).forEach(entry -> table.put(IpcacheSource.NODE, entry));
  }

  /** Reads the entries that the kernel holds, whatever this table has. */
  public CompletableFuture<List<IpcacheEntry>> inKernel() {
    return kernel.read();
  }

  /** Compares the whole table with the kernel and writes the difference. */
  public CompletableFuture<Void> compare() {
    if (comparison == null || comparison.isDone()) {
      comparison =
          kernel
              .read()
              .thenComposeAsync(
                  held -> {
                    table.realized(held);
                    isOutdated = false;
                    return apply(table.takeAllChanges());
                  },
                  owner);
    }
    return comparison;
  }

  /**
   * Returns whether the next call compares the whole table with the kernel first; otherwise its
   * writes are asked for before it returns.
   */
  public boolean isOutdated() {
    return isOutdated;
  }

  /** Calls {@link #compare()} if a write failed since the last comparison, or none was made yet. */
  public CompletableFuture<Void> compareIfOutdated() {
    return isOutdated ? compare() : CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> put(IpcacheSource source, List<IpcacheEntry> entries) {
    final List<Prefix> touched = new ArrayList<>(entries.size());
    for (final IpcacheEntry entry : entries) {
      table.put(source, entry);
      touched.add(entry.prefix());
    }
    return write(touched);
  }

  private CompletableFuture<Void> remove(IpcacheSource source, List<Prefix> prefixes) {
    prefixes.forEach(prefix -> table.remove(source, prefix));
    return write(prefixes);
  }

  /**
   * Writes the changes of these prefixes. A comparison in progress includes every entry that is in
   * the table when the kernel answers.
   */
  private CompletableFuture<Void> write(Collection<Prefix> touched) {
    return isOutdated ? compare() : apply(table.takeChanges(touched));
  }

  private CompletableFuture<Void> apply(List<IpcacheChange> changes) {
    if (changes.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    return kernel
        .apply(changes)
        .whenComplete(
            (done, failure) -> {
              if (failure != null) {
                isOutdated = true;
              }
            });
  }

  private static List<IpcacheEntry> endpointEntries(
      int endpointId, int identity, Collection<IpAddress> addresses) {
    return addresses.stream()
        .map(address -> new IpcacheEntry(Prefix.of(address), identity, endpointId, false))
        .toList();
  }

  private static List<IpcacheEntry> outsideEntries(Map<Prefix, Integer> identities) {
    final List<IpcacheEntry> entries = new ArrayList<>(identities.size());
    identities.forEach(
        (prefix, identity) -> entries.add(new IpcacheEntry(prefix, identity, 0, false)));
    return entries;
  }

  private static IpcacheEntry nodeEntry(Prefix prefix) {
    return new IpcacheEntry(prefix, ReservedIdentity.HOST.id(), 0, true);
  }

  /** A prefix of the link scope keeps its entry where it is in the local routing table, too. */
  private static List<IpcacheEntry> nodeEntries(Set<Prefix> prefixes) {
    final List<IpcacheEntry> entries = new ArrayList<>();
    prefixes.forEach(prefix -> entries.add(nodeEntry(prefix)));
    entries.addAll(LINK_SCOPE);
    return entries;
  }
}
