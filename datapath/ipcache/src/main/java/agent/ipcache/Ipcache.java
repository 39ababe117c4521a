package agent.ipcache;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
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
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * The only owner of the ipcache: writes the desired entries of each source. The datapath has them,
 * with the precedence of the sources, and writes only differences to the kernel. Kept here are the
 * entries of this node's addresses and endpoints, whose owner has to name what it removes. Runs on
 * the owner's thread. Every method returns a future that completes when the kernel holds the
 * entries. After a failed write the future fails, and the next call has the datapath compare the
 * whole maps.
 */
public final class Ipcache {
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

  private final IpcacheProxy kernel;
  private final Map<Prefix, IpcacheEntry> endpoints = new HashMap<>();
  private final Map<Prefix, IpcacheEntry> node = new HashMap<>();

  /** Changes that the next comparison is to have. */
  private final List<IpcacheChange> staged = new ArrayList<>();

  private volatile boolean isOutdated = true;
  private CompletableFuture<Void> comparison = CompletableFuture.completedFuture(null);

  /**
   * Creates an owner without entries; its first call has the datapath compare the maps.
   *
   * @param kernel has the desired entries and writes the maps
   */
  public Ipcache(IpcacheProxy kernel) {
    this.kernel = kernel;
  }

  /** Adds or changes the entries of an endpoint's addresses. */
  public CompletableFuture<Void> putEndpoint(
      int endpointId, int identity, Collection<IpAddress> addresses) {
    return write(endpointChanges(endpointId, identity, addresses));
  }

  /** Removes the entries of an endpoint's addresses. */
  public CompletableFuture<Void> removeEndpoint(Collection<IpAddress> addresses) {
    final List<IpcacheChange> changes = new ArrayList<>();
    for (final IpAddress address : addresses) {
      final IpcacheEntry before = endpoints.remove(Prefix.of(address));
      if (before != null) {
        changes.add(new IpcacheChange(before, null));
      }
    }
    return write(changes);
  }

  /**
   * Returns the entries of prefixes outside, each with its identity, in the order in which they are
   * to be put: no address has the identity of a prefix for the moment until that of a longer one is
   * added.
   */
  public static List<IpcacheEntry> inOrder(Map<Prefix, Integer> identities) {
    final List<IpcacheEntry> entries = new ArrayList<>(identities.size());
    identities.forEach(
        (prefix, identity) -> entries.add(new IpcacheEntry(prefix, identity, 0, false)));
    entries.sort(LONGEST_FIRST);
    return entries;
  }

  /** Adds or changes entries of prefixes outside, {@link #inOrder}. */
  public CompletableFuture<Void> putOutside(List<IpcacheEntry> entries) {
    return write(additions(entries));
  }

  /** Removes the entries of prefixes outside that no rule means any more. */
  public CompletableFuture<Void> removeOutside(List<Prefix> prefixes) {
    return write(
        prefixes.stream()
            .map(prefix -> new IpcacheChange(new IpcacheEntry(prefix, 0, 0, false), null))
            .toList());
  }

  /** Replaces the entries of the prefixes whose packets this node receives. */
  public CompletableFuture<Void> setNode(Set<Prefix> prefixes) {
    return write(nodeChanges(prefixes));
  }

  /** Adds the entry of a prefix whose packets this node receives now. */
  public CompletableFuture<Void> addNode(Prefix prefix) {
    if (node.containsKey(prefix)) {
      return CompletableFuture.completedFuture(null);
    }
    final IpcacheEntry entry = nodeEntry(prefix);
    node.put(prefix, entry);
    return write(List.of(new IpcacheChange(null, entry)));
  }

  /** Returns whether the address is an address of this node. */
  public boolean isNode(IpAddress address) {
    return node.containsKey(Prefix.of(address));
  }

  /** Adds the entries of an endpoint without writing them; {@link #compare()} writes them. */
  public void stageEndpoint(int endpointId, int identity, Collection<IpAddress> addresses) {
    staged.addAll(endpointChanges(endpointId, identity, addresses));
  }

  /**
   * Adds entries of prefixes outside and of the node's addresses without writing them; {@link
   * #compare()} writes them.
   */
  public void stage(Map<Prefix, Integer> identities, Set<Prefix> nodePrefixes) {
    staged.addAll(additions(inOrder(identities)));
    staged.addAll(nodeChanges(nodePrefixes));
  }

  /** Reads the entries that the kernel holds, whatever is desired. */
  public CompletableFuture<List<IpcacheEntry>> inKernel() {
    return kernel.read();
  }

  /**
   * Compares the whole maps by the datapath with the entries of all sources, with those that are
   * staged, and writes the difference.
   */
  public CompletableFuture<Void> compare() {
    if (comparison.isDone() || !staged.isEmpty()) {
      final List<IpcacheChange> changes = List.copyOf(staged);
      staged.clear();
      comparison =
          kernel.synchronize(changes).whenComplete((done, failure) -> isOutdated = failure != null);
    }
    return comparison;
  }

  /**
   * Returns whether the next call has the datapath compare the whole maps: a write failed since the
   * last comparison, or none was made yet.
   */
  public boolean isOutdated() {
    return isOutdated;
  }

  /** Calls {@link #compare()} if a write failed since the last comparison, or none was made yet. */
  public CompletableFuture<Void> compareIfOutdated() {
    return isOutdated ? compare() : CompletableFuture.completedFuture(null);
  }

  /** Writes changes; those behind a comparison in progress follow it. */
  private CompletableFuture<Void> write(List<IpcacheChange> changes) {
    if (isOutdated && comparison.isDone()) {
      staged.addAll(changes);
      return compare();
    }
    if (changes.isEmpty()) {
      return comparison.isDone() ? CompletableFuture.completedFuture(null) : comparison;
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

  private List<IpcacheChange> endpointChanges(
      int endpointId, int identity, Collection<IpAddress> addresses) {
    final List<IpcacheChange> changes = new ArrayList<>(addresses.size());
    for (final IpAddress address : addresses) {
      final IpcacheEntry entry = new IpcacheEntry(Prefix.of(address), identity, endpointId, false);
      final IpcacheEntry before = endpoints.put(entry.prefix(), entry);
      if (!entry.equals(before)) {
        changes.add(new IpcacheChange(before, entry));
      }
    }
    return changes;
  }

  private List<IpcacheChange> nodeChanges(Set<Prefix> prefixes) {
    final Map<Prefix, IpcacheEntry> wanted = new HashMap<>();
    nodeEntries(prefixes).forEach(entry -> wanted.put(entry.prefix(), entry));
    final List<IpcacheChange> changes = new ArrayList<>();
    wanted.forEach(
        (prefix, entry) -> {
          final IpcacheEntry before = node.put(prefix, entry);
          if (!entry.equals(before)) {
            changes.add(new IpcacheChange(before, entry));
          }
        });
    node.values()
        .removeIf(
            entry -> {
              final boolean isGone = !wanted.containsKey(entry.prefix());
              if (isGone) {
                changes.add(new IpcacheChange(entry, null));
              }
              return isGone;
            });
    changes.sort(Comparator.comparing(IpcacheChange::prefix));
    return changes;
  }

  private static List<IpcacheChange> additions(List<IpcacheEntry> entries) {
    return entries.stream().map(entry -> new IpcacheChange(null, entry)).toList();
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
