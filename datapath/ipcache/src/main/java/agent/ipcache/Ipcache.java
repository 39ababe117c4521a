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
 * The only owner of the ipcache: passes the desired entries of each source to the datapath, which
 * has them with the precedence of the sources, writes only differences to the kernel, and retries
 * what the kernel refuses. Kept here are the entries of this node's addresses, of which a
 * difference is made. Runs on the owner's thread. Every method returns a future that completes when
 * the kernel holds the entries, and fails where it has refused one of them. Entries of the previous
 * run stay until {@link #compare()}.
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
  private final Map<Prefix, IpcacheEntry> node = new HashMap<>();

  /** Changes that the next comparison is to have. */
  private final List<IpcacheChange> staged = new ArrayList<>();

  /**
   * Creates an owner without entries.
   *
   * @param kernel has the desired entries and writes the maps
   */
  public Ipcache(IpcacheProxy kernel) {
    this.kernel = kernel;
  }

  /** Adds or changes the entries of an endpoint's addresses, also those that it has already. */
  public CompletableFuture<Void> putEndpoint(
      int endpointId, int identity, Collection<IpAddress> addresses) {
    return kernel.apply(endpointChanges(endpointId, identity, addresses));
  }

  /**
   * Removes the entries of an endpoint's addresses, unless another endpoint has the address since;
   * also those that were removed already.
   */
  public CompletableFuture<Void> removeEndpoint(int endpointId, Collection<IpAddress> addresses) {
    return kernel.apply(
        addresses.stream()
            .map(address -> new IpcacheEntry(Prefix.of(address), 0, endpointId, false))
            .map(entry -> new IpcacheChange(entry, null))
            .toList());
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
    return kernel.apply(additions(entries));
  }

  /** Removes the entries of prefixes outside that no rule means any more. */
  public CompletableFuture<Void> removeOutside(List<Prefix> prefixes) {
    return kernel.apply(
        prefixes.stream()
            .map(prefix -> new IpcacheChange(new IpcacheEntry(prefix, 0, 0, false), null))
            .toList());
  }

  /** Replaces the entries of the prefixes whose packets this node receives. */
  public CompletableFuture<Void> setNode(Set<Prefix> prefixes) {
    return kernel.apply(nodeChanges(prefixes));
  }

  /** Adds the entry of a prefix whose packets this node receives now. */
  public CompletableFuture<Void> addNode(Prefix prefix) {
    if (node.containsKey(prefix)) {
      return CompletableFuture.completedFuture(null);
    }
    final IpcacheEntry entry = nodeEntry(prefix);
    node.put(prefix, entry);
    return kernel.apply(List.of(new IpcacheChange(null, entry)));
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
   * staged, and writes the difference: entries of the previous run that no source has put until
   * then are deleted.
   */
  public CompletableFuture<Void> compare() {
    final CompletableFuture<Void> compared = kernel.synchronize(List.copyOf(staged));
    staged.clear();
    return compared;
  }

  private static List<IpcacheChange> endpointChanges(
      int endpointId, int identity, Collection<IpAddress> addresses) {
    return addresses.stream()
        .map(address -> new IpcacheEntry(Prefix.of(address), identity, endpointId, false))
        .map(entry -> new IpcacheChange(null, entry))
        .toList();
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
