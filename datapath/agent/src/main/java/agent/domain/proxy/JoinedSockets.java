package agent.domain.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.types.OperationException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The sockets that have the address of a client. The proxy process asks for them, and gets only
 * addresses of clients whose flows the datapath has sent to one of its ports.
 */
final class JoinedSockets {
  private static final int MOST = 65_536;

  /** How many the datapath has not joined yet. */
  private static final int MOST_WAITING = 16_384;

  private final RedirectProxy redirect;
  private final Set<Integer> firstPorts = ConcurrentHashMap.newKeySet();
  private final Map<Key, RedirectedFlow> joined = new ConcurrentHashMap<>();
  private final AtomicInteger waiting = new AtomicInteger();

  private record Key(int port, int protocol, boolean isIpv6) {
    static Key of(RedirectedFlow flow, int port) {
      return new Key(port, flow.protocol(), flow.server().isIpv6());
    }
  }

  JoinedSockets(RedirectProxy redirect) {
    this.redirect = redirect;
  }

  /** Adds the ports of a proxy. */
  void serve(int firstPort) {
    firstPorts.add(firstPort);
  }

  /**
   * Assigns a socket the address of a client; fails where the flow is not one of a proxy. A port
   * that another flow has not left yet is that flow's no more.
   */
  CompletableFuture<Void> join(RedirectedFlow asked, int port) {
    final RedirectedFlow flow = known(asked);
    if (flow == null) {
      return refusal("the datapath sends no such flow");
    }
    if (joined.size() >= MOST || waiting.get() >= MOST_WAITING) {
      return refusal("too many sockets");
    }
    final RedirectedFlow former = joined.put(Key.of(flow, port), flow);
    if (former != null && !former.hasEndsOf(flow)) {
      redirect.leave(former, port);
    }
    waiting.incrementAndGet();
    return redirect.join(flow, port).whenComplete((done, failure) -> waiting.decrementAndGet());
  }

  private static CompletableFuture<Void> refusal(String reason) {
    return CompletableFuture.failedFuture(new OperationException(reason));
  }

  private RedirectedFlow known(RedirectedFlow asked) {
    for (final int first : firstPorts) {
      for (int port = first; port < first + RedirectProxy.PORTS; port++) {
        final RedirectedFlow found =
            redirect
                .find(asked.protocol(), asked.client(), asked.clientPort(), port)
                .filter(asked::hasEndsOf)
                .orElse(null);
        if (found != null && found.serverEndpoint() != 0) {
          return found;
        }
      }
    }
    return null;
  }

  /** Forgets a socket; does nothing where there is none, or another flow has its port. */
  void leave(RedirectedFlow flow, int port) {
    final Key key = Key.of(flow, port);
    final RedirectedFlow known = joined.get(key);
    if (known != null && known.hasEndsOf(flow) && joined.remove(key, known)) {
      redirect.leave(known, port);
    }
  }

  /** Forgets all sockets: their process is gone. */
  void leaveAll() {
    final List<Key> all = List.copyOf(new HashSet<>(joined.keySet()));
    for (final Key key : all) {
      final RedirectedFlow flow = joined.remove(key);
      if (flow != null) {
        redirect.leave(flow, key.port());
      }
    }
  }
}
