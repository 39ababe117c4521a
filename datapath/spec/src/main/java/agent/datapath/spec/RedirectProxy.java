package agent.datapath.spec;

import agent.maps.layout.MapSize;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The flows that the datapath sends to the proxies of this agent. A program rewrites the
 * destination of a packet to a proxy's address and port, and the source of what the proxy answers;
 * so a proxy needs plain sockets only. It asks here whom a connection is from, and says which
 * socket of its own continues it to the server.
 */
public interface RedirectProxy {
  /**
   * The number of consecutive ports of a proxy. A client may use one port for flows to several
   * servers; each of them gets another port of the proxy.
   */
  int PORTS = MapSize.REDIRECT_PORTS;

  /**
   * The user and the group of the process of the proxies, which no account has. The programs at
   * sockets give it no backend in the place of a service (PROXY_USER of socket.bpf.c).
   */
  int USER = 1_900_000_001;

  /** Returns the address of this node that proxies listen on; empty: the family is off. */
  Optional<IpAddress> address(boolean ipv6);

  /**
   * Returns the first port that the proxy of a former run had, which this one takes if it can, so
   * that clients that keep their port find it; 0: there was none.
   */
  int previousPort(RedirectKind kind);

  /**
   * Sends flows of this kind to a proxy from now on, whose sockets are open. Without one, packets
   * that open such flows are dropped, so that clients send them again.
   *
   * @param firstPort the first of {@link #PORTS} ports that the proxy listens on
   */
  CompletableFuture<Void> serve(RedirectKind kind, int firstPort);

  /**
   * Returns the flow that a packet or a connection at a proxy belongs to; any thread may ask.
   *
   * @param client the address that the socket shows of its peer
   * @param clientPort the port that the socket shows of its peer
   * @param port the port of the proxy that it came to
   * @return empty: the datapath has not sent it here, so that it is to be refused
   */
  Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port);

  /**
   * Returns a flow of {@link #find} with the identities that its ends have now: an address gets
   * another one while the flow lasts where a rule names it, or a name that it belongs to.
   *
   * @param port the port of the proxy that it came to
   */
  default RedirectedFlow refresh(RedirectedFlow flow, int port) {
    return find(flow.protocol(), flow.client(), flow.clientPort(), port)
        .filter(flow::hasEndsOf)
        .orElse(flow);
  }

  /**
   * Returns why a proxy must not connect to the server of a flow, or empty where it may. The
   * datapath has judged the address as what it was on the wire; the node's stack may take it for
   * something else, such as its loopback, an address of its own, or a workload that got it later.
   * To be asked for each socket, just before it connects; any thread may ask.
   */
  Optional<String> refusal(RedirectedFlow flow);

  /**
   * Assigns a socket of the proxy the client's address and port where the server is an endpoint of
   * this node; to be completed before its first packet. The socket is bound to {@link #address} and
   * a port. For other servers there is nothing to do: they see the address of this node.
   *
   * @param flow the flow that the socket continues
   * @param port the port that the socket is bound to
   */
  CompletableFuture<Void> join(RedirectedFlow flow, int port);

  /** Forgets a socket of {@link #join}, which is closed. */
  void leave(RedirectedFlow flow, int port);
}
