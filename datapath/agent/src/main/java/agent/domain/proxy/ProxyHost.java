package agent.domain.proxy;

import agent.datapath.spec.NodeRedirects;
import agent.dns.proxy.NameGate;
import agent.identity.IdentityAllocator;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyFeed;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Where the proxies run. */
public interface ProxyHost extends AutoCloseable {
  /** Creates the host of the proxies of a node. */
  @FunctionalInterface
  interface Factory {
    /**
     * Creates the host without starting a proxy.
     *
     * @param redirect the flows
     * @param policies the rules
     * @param gate what answers with addresses wait for
     * @param identities the labels of identities
     */
    ProxyHost create(
        NodeRedirects redirect, PolicyFeed policies, NameGate gate, IdentityAllocator identities);
  }

  /**
   * Starts a proxy, or does nothing where it runs.
   *
   * @return the first of its ports
   * @throws IOException where its log cannot be opened, or no ports can be bound
   */
  int start(RedirectKind kind) throws IOException;

  /**
   * Enforces the published policies on what the proxies have open.
   *
   * @return complete when that is so
   */
  CompletableFuture<Void> enforce();

  /**
   * Returns what was counted.
   *
   * @param endpointId whose redirects are counted; 0: none
   */
  ProxyCounts report(int endpointId);

  /** Forgets what was counted for an endpoint that is gone. */
  void forget(int endpointId);

  /** Opens the logs by their names again. */
  void reopen();

  /** Sets what hears, with a sentence, that all proxies have ended. */
  void whenLost(Consumer<String> listener);

  /** Returns the process that they run in, and what it may do; empty: there is none. */
  Optional<String> process();

  @Override
  void close();
}
