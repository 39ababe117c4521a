package agent.domain.proxy;

import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectedFlow;
import agent.dns.NameResolver.Resolved;
import agent.dns.proxy.DnsObserver;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyFeed;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;

/** What a proxy process needs of the agent, for tests that look at what it asks for. */
final class FakeAgentParts {
  static final RedirectedFlow FLOW =
      new RedirectedFlow(
          6,
          IpAddress.parse("10.1.0.1"),
          4_000,
          1_001,
          7,
          IpAddress.parse("10.1.0.2"),
          80,
          1_002,
          9);

  final Map<Integer, RedirectedFlow> sent = new ConcurrentHashMap<>();
  final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
  final List<RequestRecord> requests = new CopyOnWriteArrayList<>();
  final List<DnsObserver.Event> questions = new CopyOnWriteArrayList<>();
  final Set<String> allowed = ConcurrentHashMap.newKeySet();
  final List<PolicyFeed.Follower> followers = new CopyOnWriteArrayList<>();
  volatile CompletableFuture<Set<IpAddress>> released = new CompletableFuture<>();

  /** An answer is taken when this is complete, and the thread that brings it waits for that. */
  volatile CompletableFuture<Void> takes = CompletableFuture.completedFuture(null);

  volatile CompletableFuture<Void> joined = CompletableFuture.completedFuture(null);
  volatile Optional<IpAddress> address4 = Optional.of(IpAddress.parse("10.1.0.254"));
  volatile Optional<IpAddress> address6 = Optional.of(IpAddress.parse("fd00::254"));

  ProxyChild.Parts parts() {
    return new ProxyChild.Parts(
        new Redirects(), new Policies(), this::found, requests::add, questions::add);
  }

  private CompletableFuture<Set<IpAddress>> found(int endpointId, String name, Resolved answer) {
    calls.add(
        "found %d %s %s %d %s"
            .formatted(endpointId, name, answer.addresses(), answer.ttlSec(), answer.aliases()));
    takes.join();
    return released;
  }

  private final class Redirects implements NodeRedirects {
    @Override
    public Source source() {
      return new Source(
          Map.of("flows", Path.of("/pins/a")),
          new Filters(Path.of("/pins/tcp"), Path.of("/pins/udp")),
          41,
          61);
    }

    @Override
    public Optional<IpAddress> address(boolean ipv6) {
      return ipv6 ? address6 : address4;
    }

    @Override
    public int previousPort(RedirectKind kind) {
      return kind == RedirectKind.DNS ? 30_000 : 20_000;
    }

    @Override
    public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
      return Optional.ofNullable(sent.get(port))
          .filter(flow -> flow.client().equals(client) && flow.clientPort() == clientPort);
    }

    @Override
    public Optional<String> refusal(RedirectedFlow flow) {
      return Optional.empty();
    }

    @Override
    public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
      calls.add("join " + flow.server() + " " + port);
      return joined;
    }

    @Override
    public void leave(RedirectedFlow flow, int port) {
      calls.add("leave " + flow.server() + " " + port);
    }
  }

  private final class Policies implements PolicyFeed {
    @Override
    public void follow(Follower follower) {
      followers.add(follower);
    }

    @Override
    public void unfollow(Follower follower) {
      followers.remove(follower);
    }

    @Override
    public boolean mayAsk(int endpointId, String name) {
      return allowed.contains(endpointId + " " + name);
    }

    @Override
    public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean dns(RedirectedFlow flow, String name) {
      throw new UnsupportedOperationException();
    }

    @Override
    public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<PolicyRedirect> redirects(int endpointId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long revision() {
      throw new UnsupportedOperationException();
    }
  }
}
