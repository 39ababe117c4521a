package agent.dns.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A datapath on the loopback interface: all clients are those of one endpoint at a time and ask one
 * server.
 */
final class FakeRedirect implements RedirectProxy {
  static final int ENDPOINT = 7;

  final List<Integer> joined = new CopyOnWriteArrayList<>();
  final List<Integer> left = new CopyOnWriteArrayList<>();

  /** Protocol, client, its port and the proxy's port, each time that a flow was looked up. */
  final List<String> asked = new CopyOnWriteArrayList<>();

  /** The first ports of the former run. */
  volatile Map<RedirectKind, Integer> previous = Map.of();

  volatile InetSocketAddress server;

  /** Whose the clients are that are found from now on. */
  volatile int endpoint = ENDPOINT;

  volatile int serverEndpoint;
  volatile int serverIdentity = 2;
  volatile boolean knowsFlows = true;
  volatile boolean hasIpv6;
  volatile String refusal;
  volatile String ipv4 = "127.0.0.1";
  volatile CompletableFuture<Void> join = CompletableFuture.completedFuture(null);

  @Override
  public Optional<IpAddress> address(boolean ipv6) {
    final String text = ipv6 ? hasIpv6 ? "::1" : null : ipv4;
    return Optional.ofNullable(text).map(IpAddress::parse);
  }

  @Override
  public int previousPort(RedirectKind kind) {
    return previous.getOrDefault(kind, 0);
  }

  @Override
  public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
    asked.add("%d %s %d %d".formatted(protocol, client, clientPort, port));
    final InetSocketAddress to = server;
    return knowsFlows
        ? Optional.of(
            new RedirectedFlow(
                protocol,
                client,
                clientPort,
                1000,
                endpoint,
                IpAddress.of(to.getAddress().getAddress()),
                to.getPort(),
                serverIdentity,
                serverEndpoint))
        : Optional.empty();
  }

  @Override
  public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
    joined.add(port);
    return join;
  }

  @Override
  public Optional<String> refusal(RedirectedFlow flow) {
    return Optional.ofNullable(refusal);
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    left.add(port);
  }
}
