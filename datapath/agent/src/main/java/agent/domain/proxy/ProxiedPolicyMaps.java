package agent.domain.proxy;

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
import java.util.stream.Stream;

/**
 * Policy maps whose proxies are started before a map sends flows to them, so that the first
 * connection after a rule does not wait for one.
 */
public final class ProxiedPolicyMaps implements PolicyMapProxy {
  private static final Set<RedirectKind> ALL = EnumSet.of(RedirectKind.HTTP, RedirectKind.DNS);

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
  public CompletableFuture<Void> startProxies(Stream<PolicyEntry> entries) {
    if (proxies.serves(ALL)) {
      return CompletableFuture.completedFuture(null); // entries are not walked for this
    }
    final Set<RedirectKind> kinds = kindsOf(entries);
    return proxies.serves(kinds) ? CompletableFuture.completedFuture(null) : proxies.need(kinds);
  }

  @Override
  public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    return maps.apply(changes);
  }

  @Override
  public Optional<String> unserved(Collection<PolicyEntry> entries) {
    return proxies.refusal(ALL).isEmpty()
        ? Optional.empty()
        : proxies.refusal(kindsOf(entries.stream()));
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired) {
    return startProxies(desired.stream())
        .thenCompose(started -> maps.synchronize(endpointId, identity, desired))
        .thenCompose(written -> proxies.enforce().thenApply(done -> written));
  }

  @Override
  public CompletableFuture<Void> enforceOnOpenFlows() {
    return proxies.enforce();
  }

  private static Set<RedirectKind> kindsOf(Stream<PolicyEntry> entries) {
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    entries
        .filter(entry -> entry.verdict().isRedirect())
        .forEach(
            entry ->
                kinds.add(
                    entry.verdict().redirect() == RedirectKind.DNS.number()
                        ? RedirectKind.DNS
                        : RedirectKind.HTTP));
    return kinds;
  }
}
