package agent.dns.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The sockets to servers over UDP, one for each flow. Used in turn ({@link ProxyLoop}). */
final class UdpUpstreams {
  private static final int LONGEST_MESSAGE = 65_535;

  private final DnsProxyContext context;
  private final ProxyLoop loop;
  private final Exchanges exchanges;
  private final EndpointUse.Table uses;
  private final Outstanding.Identifiers identifiers;
  private final Map<RedirectedFlow, UdpUpstream> upstreams = new HashMap<>();
  private final LinkedHashSet<UdpUpstream> idle = new LinkedHashSet<>();
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(LONGEST_MESSAGE);

  UdpUpstreams(
      DnsProxyContext context,
      ProxyLoop loop,
      Exchanges exchanges,
      EndpointUse.Table uses,
      Outstanding.Identifiers identifiers) {
    this.context = context;
    this.loop = loop;
    this.exchanges = exchanges;
    this.uses = uses;
    this.identifiers = identifiers;
  }

  Exchanges exchanges() {
    return exchanges;
  }

  /** Returns the socket of a flow; null where there is no room for one. */
  UdpUpstream of(RedirectedFlow flow) {
    final UdpUpstream known = upstreams.get(flow);
    if (known != null) {
      return known;
    }
    final EndpointUse use = uses.of(flow.clientEndpoint());
    final boolean hasRoom =
        (use.sockets < context.limits().socketsOfEndpoint() || closeFirst(use.idle))
            && (uses.all.sockets < context.limits().sockets() || closeFirst(idle));
    return hasRoom ? open(flow, use) : null;
  }

  private boolean closeFirst(LinkedHashSet<UdpUpstream> unused) {
    if (unused.isEmpty()) {
      return false;
    }
    close(unused.getFirst());
    return true;
  }

  private UdpUpstream open(RedirectedFlow flow, EndpointUse use) {
    DatagramChannel channel = null;
    try {
      channel = DatagramChannel.open(PortBlock.family(flow.server()));
      bind(channel, flow, context.redirect());
      permit(flow, context.redirect());
      channel.connect(flow.server().withPort(flow.serverPort()));
      final UdpUpstream upstream = new UdpUpstream(this, channel, flow, identifiers);
      loop.register(channel, SelectionKey.OP_READ, upstream);
      if (flow.serverEndpoint() != 0) {
        context
            .redirect()
            .join(flow, upstream.port)
            .whenComplete((done, failure) -> loop.tell(() -> upstream.onJoined(failure)));
      }
      upstreams.put(flow, upstream);
      use.sockets++;
      uses.all.sockets++;
      return upstream;
    } catch (IOException | RuntimeException e) {
      if (channel != null) {
        PortBlock.close(channel);
      }
      return null;
    }
  }

  /** Binds a socket to this node's address where it is to be joined. */
  static void bind(
      java.nio.channels.NetworkChannel channel, RedirectedFlow flow, RedirectProxy redirect)
      throws IOException {
    if (flow.serverEndpoint() != 0) {
      final Optional<IpAddress> own = redirect.address(flow.server().isIpv6());
      channel.bind(own.orElseThrow().withPort(0));
    }
  }

  /**
   * Returns normally where a socket may connect to the server of the flow.
   *
   * @throws IOException that says why it may not
   */
  static void permit(RedirectedFlow flow, RedirectProxy redirect) throws IOException {
    final Optional<String> refusal = redirect.refusal(flow);
    if (refusal.isPresent()) {
      throw new IOException(refusal.get());
    }
  }

  /** Returns the next message of the server of a socket; null: there is none. */
  byte[] read(DatagramChannel channel) throws IOException {
    buffer.clear();
    if (channel.read(buffer) <= 0) {
      return null;
    }
    final byte[] message = new byte[buffer.flip().remaining()];
    buffer.get(message);
    return message;
  }

  void busy(UdpUpstream upstream) {
    if (idle.remove(upstream)) {
      uses.of(upstream.flow.clientEndpoint()).idle.remove(upstream);
    }
  }

  void idle(UdpUpstream upstream) {
    if (upstreams.get(upstream.flow) == upstream && idle.add(upstream)) {
      upstream.idleSinceNs = loop.nowNs();
      uses.of(upstream.flow.clientEndpoint()).idle.add(upstream);
    }
  }

  void close(UdpUpstream upstream) {
    upstream.close();
    busy(upstream);
    if (upstreams.remove(upstream.flow, upstream)) {
      uses.of(upstream.flow.clientEndpoint()).sockets--;
      uses.all.sockets--;
      if (upstream.flow.serverEndpoint() != 0) {
        context.redirect().leave(upstream.flow, upstream.port);
      }
    }
  }

  /** Closes sockets that were not used for a while. */
  void closeIdle() {
    final long mostNs = context.times().idleSocket().toNanos();
    while (!idle.isEmpty() && loop.nowNs() - idle.getFirst().idleSinceNs >= mostNs) {
      close(idle.getFirst());
    }
  }

  void closeAll() {
    List.copyOf(upstreams.values()).forEach(this::close);
  }
}
