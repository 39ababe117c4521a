package agent.domain.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestListener;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RequestPolicies;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/**
 * A datapath on loopback whose policies deny every request, and the ports of proxies that it got.
 */
public final class RedirectBench implements RedirectProxy, RequestPolicies, AutoCloseable {
  public static final long REVISION = 41;

  public final Map<RedirectKind, Integer> previous = new EnumMap<>(RedirectKind.class);
  public final List<String> served = new CopyOnWriteArrayList<>();
  public final Map<Integer, List<PolicyRedirect>> redirects = new ConcurrentHashMap<>();
  public final LocalProxies local;
  public final NodeProxies proxies;
  public volatile CompletableFuture<Void> serving = CompletableFuture.completedFuture(null);
  public volatile RequestListener listener;
  public volatile boolean hasAddress = true;

  /** Whether a flow may exist at all; a proxy asks for each connection of a pass. */
  public volatile BooleanSupplier admits = () -> true;

  /** What every connection to a proxy belongs to; null: no flow. */
  public volatile RedirectedFlow flow;

  /** The proxy that the client's policy sends the flow to. */
  public volatile RedirectKind redirected = RedirectKind.NONE;

  /** Creates proxies that are not started. */
  public RedirectBench() {
    this(context -> context);
  }

  /** Creates proxies that are not started, the HTTP proxy with other values. */
  public RedirectBench(UnaryOperator<HttpProxyContext> http) {
    local =
        new LocalProxies(
            counter -> {
              listener = counter;
              return http.apply(
                  new HttpProxyContext()
                      .redirect(this)
                      .policies(this)
                      .listener(counter)
                      .threads(1));
            },
            () ->
                new DnsProxyContext()
                    .redirect(this)
                    .policies(this)
                    .gate(
                        (endpoint, name, answer) ->
                            CompletableFuture.completedFuture(Set.copyOf(answer.addresses()))));
    proxies = new NodeProxies(this, local);
  }

  @Override
  public Optional<IpAddress> address(boolean ipv6) {
    return ipv6 || !hasAddress ? Optional.empty() : Optional.of(IpAddress.parse("127.0.0.1"));
  }

  @Override
  public int previousPort(RedirectKind kind) {
    return previous.getOrDefault(kind, 0);
  }

  @Override
  public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
    served.add(kind + " " + firstPort);
    return serving;
  }

  @Override
  public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
    return Optional.ofNullable(flow);
  }

  @Override
  public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
    return CompletableFuture.failedFuture(new OperationException("there are no flows"));
  }

  @Override
  public Optional<String> refusal(RedirectedFlow flow) {
    return Optional.empty();
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    throw new AssertionError("there are no flows");
  }

  @Override
  public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
    return HttpVerdict.DENIED;
  }

  @Override
  public boolean dns(RedirectedFlow flow, String name) {
    return false;
  }

  @Override
  public boolean admits(RedirectedFlow asked) {
    return admits.getAsBoolean();
  }

  @Override
  public RedirectKind redirect(RedirectedFlow asked, PolicyDirection direction) {
    return direction == PolicyDirection.EGRESS ? redirected : RedirectKind.NONE;
  }

  @Override
  public List<PolicyRedirect> redirects(int endpointId) {
    return redirects.getOrDefault(endpointId, List.of());
  }

  @Override
  public long revision() {
    return REVISION;
  }

  @Override
  public void close() {
    proxies.close();
  }
}
