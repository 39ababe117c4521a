package agent.domain.proxy;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.maps.layout.RedirectKind;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Policy maps whose proxies are started before a map sends flows to them, so that the first
 * connection after a rule does not wait for one.
 */
public final class ProxiedPolicyMaps implements PolicyMapProxy {
  private final PolicyMapProxy maps;
  private final NodeProxies proxies;

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
  public CompletableFuture<Void> startProxies(Set<RedirectKind> kinds) {
    return proxies.serves(kinds) ? CompletableFuture.completedFuture(null) : proxies.need(kinds);
  }

  @Override
  public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    return maps.apply(changes);
  }

  @Override
  public boolean isBehind(int endpointId) {
    return maps.isBehind(endpointId);
  }

  @Override
  public Optional<String> unserved(Set<RedirectKind> kinds) {
    return proxies.refusal(kinds);
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired) {
    return startProxies(PolicyEntry.redirects(desired))
        .thenCompose(started -> maps.synchronize(endpointId, identity, desired))
        .thenCompose(written -> proxies.enforce().thenApply(done -> written));
  }

  @Override
  public CompletableFuture<Void> enforceOnOpenFlows() {
    return proxies.enforce();
  }
}
