package agent.domain.proxy;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.maps.layout.RedirectKind;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Starts a proxy before a policy map sends flows to it, so that the first connection after a rule
 * does not wait for one. Writes keep their order, also those that need none.
 */
public final class ProxiedPolicyMaps implements PolicyMapProxy {
  private static final Set<RedirectKind> ALL = EnumSet.allOf(RedirectKind.class);

  private final PolicyMapProxy maps;
  private final NodeProxies proxies;
  private CompletableFuture<?> last = CompletableFuture.completedFuture(null);

  /**
   * Creates the writer.
   *
   * @param maps writes the entries
   * @param proxies are started before
   */
  public ProxiedPolicyMaps(PolicyMapProxy maps, NodeProxies proxies) {
    this.maps = maps;
    this.proxies = proxies;
  }

  @Override
  public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    changes.forEach(change -> add(change.delta().upserts(), kinds));
    return with(kinds, () -> maps.apply(changes));
  }

  @Override
  public Optional<String> unserved(Collection<PolicyEntry> entries) {
    if (proxies.refusal(ALL).isEmpty()) {
      return Optional.empty(); // most updates are not walked for this
    }
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    add(entries, kinds);
    return proxies.refusal(kinds);
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired) {
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    add(desired, kinds);
    return with(kinds, () -> maps.synchronize(endpointId, identity, desired))
        .thenCompose(written -> proxies.enforce().thenApply(done -> written));
  }

  @Override
  public CompletableFuture<Void> enforceOnOpenFlows() {
    return proxies.enforce();
  }

  /** Returns a writer of the ipcache whose calls keep their order with those of the maps. */
  public IpcacheProxy inOrder(IpcacheProxy ipcache) {
    return new IpcacheProxy() {
      @Override
      public CompletableFuture<List<IpcacheEntry>> read() {
        return with(Set.of(), ipcache::read);
      }

      @Override
      public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
        return enforced(changes, with(Set.of(), () -> ipcache.apply(changes)));
      }

      @Override
      public CompletableFuture<Void> synchronize(Collection<IpcacheChange> changes) {
        return enforced(changes, with(Set.of(), () -> ipcache.synchronize(changes)));
      }
    };
  }

  private CompletableFuture<Void> enforced(
      Collection<IpcacheProxy.IpcacheChange> changes, CompletableFuture<Void> written) {
    return changes.stream().anyMatch(ProxiedPolicyMaps::changesAnEndpoint)
        ? written.thenCompose(done -> proxies.enforce())
        : written;
  }

  /** An endpoint has another identity, or is gone: flows of it may be open. */
  private static boolean changesAnEndpoint(IpcacheProxy.IpcacheChange change) {
    return change.before() != null
        && change.before().endpointId() != 0
        && !change.before().equals(change.after());
  }

  private static void add(Collection<PolicyEntry> entries, Set<RedirectKind> kinds) {
    for (final PolicyEntry entry : entries) {
      if (entry.verdict().isRedirect()) {
        kinds.add(
            entry.verdict().redirect() == RedirectKind.DNS.number()
                ? RedirectKind.DNS
                : RedirectKind.HTTP);
      }
    }
  }

  /** Writes at once, unless a proxy, or a write before this one, is to be waited for. */
  private synchronized <T> CompletableFuture<T> with(
      Set<RedirectKind> kinds, Supplier<CompletableFuture<T>> write) {
    if (last.isDone() && proxies.serves(kinds)) {
      return write.get();
    }
    final CompletableFuture<T> written =
        last.handle((nothing, failure) -> kinds)
            .thenCompose(proxies::need)
            .thenCompose(nothing -> write.get());
    last = written;
    return written;
  }
}
