package agent.endpoint;

import agent.datapath.manager.spec.DatapathProxy;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.endpoint.IpcacheTable.Source;
import agent.identity.Identity;
import agent.identity.ReservedIdentity;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Keeps the kernel's ipcache what the table says; after a failed write it is compared whole. */
final class IpcacheWriter {
  /**
   * What a workload's link ends at: link-local unicast, multicast and broadcast reach this node's
   * own sockets and nothing else. They are no addresses of this node, so others may send from them.
   */
  private static final List<IpcacheEntry> LINK_SCOPE =
      Stream.of("fe80::/10", "ff00::/8", "224.0.0.0/4", "255.255.255.255/32")
          .map(
              prefix ->
                  new IpcacheEntry(Prefix.parse(prefix), ReservedIdentity.HOST.id(), 0, false))
          .toList();

  private final IpcacheTable table = new IpcacheTable();
  private final DatapathProxy datapath;
  private final DatapathAnswers answers;
  private boolean doubtful;

  IpcacheWriter(DatapathProxy datapath, DatapathAnswers answers) {
    this.datapath = datapath;
    this.answers = answers;
  }

  void putEndpoint(Endpoint endpoint) {
    write(table.put(Source.ENDPOINT, entriesOf(endpoint)));
  }

  void removeEndpoint(Endpoint endpoint) {
    write(table.remove(Source.ENDPOINT, prefixesOf(endpoint)));
  }

  void putCidrs(Collection<Identity> cidrs) {
    write(table.put(Source.CIDR, cidrs.stream().map(IpcacheWriter::cidrEntry).toList()));
  }

  void removeCidrs(Collection<Identity> cidrs) {
    write(table.remove(Source.CIDR, cidrs.stream().map(i -> i.cidr().orElseThrow()).toList()));
  }

  /** Whether the node has this address. */
  boolean isHost(IpAddress address) {
    return table.has(Source.HOST, Prefix.of(address));
  }

  /** The addresses of the node from now on. */
  void setHosts(Set<IpAddress> addresses) {
    final Set<Prefix> gone = new HashSet<>(table.prefixes(Source.HOST));
    addresses.forEach(address -> gone.remove(Prefix.of(address)));
    LINK_SCOPE.forEach(entry -> gone.remove(entry.prefix()));
    write(table.put(Source.HOST, hostEntries(addresses)));
    write(table.remove(Source.HOST, gone));
  }

  /** Takes all of it at once, whatever the kernel holds. */
  void restore(
      Collection<Endpoint> endpoints, Collection<Identity> cidrs, Set<IpAddress> addresses) {
    table.put(Source.CIDR, cidrs.stream().map(IpcacheWriter::cidrEntry).toList());
    table.put(Source.HOST, hostEntries(addresses));
    endpoints.forEach(endpoint -> table.put(Source.ENDPOINT, entriesOf(endpoint)));
    doubtful = true;
    reconcile();
  }

  /** Compares the kernel's with the table where a write failed before. */
  void reconcile() {
    if (doubtful) {
      answers.await(datapath.synchronizeIpcache(table.winners()), "ipcache: synchronize");
      doubtful = false;
    }
  }

  private void write(IpcacheTable.Change change) {
    if (doubtful) {
      reconcile();
      return;
    }
    try {
      if (!change.upserts().isEmpty()) {
        answers.await(datapath.upsertIpcache(change.upserts()), "ipcache: update");
      }
      if (!change.deletes().isEmpty()) {
        answers.await(datapath.removeIpcache(change.deletes()), "ipcache: delete");
      }
    } catch (Refusal refusal) {
      doubtful = true;
      throw refusal;
    }
  }

  private static List<Prefix> prefixesOf(Endpoint endpoint) {
    return endpoint.wantedRoute().addresses().stream().map(Prefix::of).toList();
  }

  private static List<IpcacheEntry> entriesOf(Endpoint endpoint) {
    return prefixesOf(endpoint).stream()
        .map(p -> new IpcacheEntry(p, endpoint.identity().id(), endpoint.id(), false))
        .toList();
  }

  private static IpcacheEntry cidrEntry(Identity identity) {
    return new IpcacheEntry(identity.cidr().orElseThrow(), identity.id(), 0, false);
  }

  private static List<IpcacheEntry> hostEntries(Set<IpAddress> addresses) {
    final List<IpcacheEntry> entries = new ArrayList<>(LINK_SCOPE);
    for (final IpAddress address : addresses) {
      entries.add(new IpcacheEntry(Prefix.of(address), ReservedIdentity.HOST.id(), 0, true));
    }
    return entries;
  }
}
