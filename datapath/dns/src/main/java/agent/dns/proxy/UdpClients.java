package agent.dns.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.util.Optional;

/** A port of the proxy over UDP. Used in turn ({@link ProxyLoop}). */
final class UdpClients implements ProxyLoop.Socket {
  private static final int UDP = 17;
  private static final int MOST_READ = 64;
  private static final int LONGEST_MESSAGE = 65_535;

  private final DatagramChannel channel;
  private final int port;
  private final RedirectProxy redirect;
  private final UdpUpstreams upstreams;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(LONGEST_MESSAGE);

  /** The sender of one message. */
  private final class Sender implements DnsExchange.Client {
    private final InetSocketAddress address;
    private RedirectedFlow flow;

    private Sender(InetSocketAddress address, RedirectedFlow flow) {
      this.address = address;
      this.flow = flow;
    }

    @Override
    public RedirectedFlow flow() {
      return flow;
    }

    @Override
    public void refresh() {
      flow = redirect.refresh(flow, port);
    }

    @Override
    public void reply(byte[] message) {
      try {
        channel.send(ByteBuffer.wrap(message), address);
      } catch (IOException e) {
        upstreams.exchanges().count(DnsCounter.ERROR);
      }
    }

    @Override
    public void outstanding(int change) {
      // The socket to the server ends with its questions.
    }

    @Override
    public DnsExchange.Upstream upstream() {
      return upstreams.of(flow);
    }
  }

  UdpClients(DatagramChannel channel, RedirectProxy redirect, UdpUpstreams upstreams)
      throws IOException {
    this.channel = channel;
    this.redirect = redirect;
    this.upstreams = upstreams;
    port = PortBlock.port(channel);
  }

  @Override
  public void onReady(SelectionKey key) throws IOException {
    for (int i = 0; i < MOST_READ; i++) {
      buffer.clear();
      final InetSocketAddress from = (InetSocketAddress) channel.receive(buffer);
      if (from == null) {
        return;
      }
      final IpAddress client = IpAddress.of(from.getAddress().getAddress());
      final Optional<RedirectedFlow> flow = redirect.find(UDP, client, from.getPort(), port);
      if (flow.isEmpty()) {
        upstreams.exchanges().count(DnsCounter.UNKNOWN_FLOW);
        continue;
      }
      final byte[] message = new byte[buffer.flip().remaining()];
      buffer.get(message);
      upstreams.exchanges().onMessage(new Sender(from, flow.get()), message);
    }
  }

  /** The port stays open: the next packet may be better. */
  @Override
  public void onFailed() {
    upstreams.exchanges().count(DnsCounter.ERROR);
  }
}
