package agent.dns.proxy;

import agent.datapath.spec.ProxyPorts;
import agent.datapath.spec.RedirectProxy;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** The sockets of the proxy: UDP and TCP on consecutive ports of each of its addresses. */
final class PortBlock implements AutoCloseable {
  private static final int BACKLOG = 256;
  private static final int RECEIVE_BYTES = 1 << 20;

  private final int first;
  private final List<DatagramChannel> datagrams = new ArrayList<>();
  private final List<ServerSocketChannel> servers = new ArrayList<>();

  private PortBlock(int first) {
    this.first = first;
  }

  /**
   * Binds all ports.
   *
   * @param addresses at least one
   * @param port the first port; 0: that of the former run, or any
   * @param previous {@link RedirectProxy#previousPort}
   * @throws OperationException naming the option where a port is not free
   */
  static PortBlock bind(List<IpAddress> addresses, int port, int previous) {
    try {
      return port == 0
          ? ProxyPorts.open(
              previous, ThreadLocalRandom.current(), first -> new PortBlock(first).open(addresses))
          : new PortBlock(port).open(addresses);
    } catch (IOException e) {
      throw new OperationException("--tofqdns-proxy-port: " + e.getMessage(), e);
    }
  }

  private PortBlock open(List<IpAddress> addresses) throws IOException {
    for (final IpAddress address : addresses) {
      for (int port = first; port <= last(); port++) {
        String what = "UDP port " + port + " of " + address;
        try {
          final DatagramChannel datagram = DatagramChannel.open(family(address));
          datagrams.add(datagram);
          datagram.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BYTES);
          datagram.bind(address.withPort(port)).configureBlocking(false);
          what = "TCP port " + port + " of " + address;
          final ServerSocketChannel server = ServerSocketChannel.open(family(address));
          servers.add(server);
          server.bind(address.withPort(port), BACKLOG).configureBlocking(false);
        } catch (IOException e) {
          close();
          throw new IOException(what + ": " + IoFailure.reason(e), e);
        }
      }
    }
    return this;
  }

  static StandardProtocolFamily family(IpAddress address) {
    return address.isIpv4() ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
  }

  static int port(NetworkChannel channel) throws IOException {
    return ((InetSocketAddress) channel.getLocalAddress()).getPort();
  }

  int first() {
    return first;
  }

  int last() {
    return first + RedirectProxy.PORTS - 1;
  }

  List<DatagramChannel> datagrams() {
    return datagrams;
  }

  List<ServerSocketChannel> servers() {
    return servers;
  }

  @Override
  public void close() {
    final List<NetworkChannel> all = new ArrayList<>(datagrams);
    all.addAll(servers);
    all.forEach(PortBlock::close);
  }

  /** Makes a socket discard its unsent data when it closes. */
  static void discard(SocketChannel channel) {
    try {
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
    } catch (IOException e) {
      // It is closed, or holds nothing yet.
    }
  }

  /** Closes a socket; what fails then cannot be repaired. */
  static void close(NetworkChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // The descriptor is gone all the same (close(2)).
    }
  }
}
