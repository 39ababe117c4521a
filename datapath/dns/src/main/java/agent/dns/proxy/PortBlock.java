package agent.dns.proxy;

import agent.datapath.manager.spec.RedirectProxy;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** The sockets of the proxy: UDP and TCP on consecutive ports of each of its addresses. */
final class PortBlock implements AutoCloseable {
  private static final int ATTEMPTS = 100;

  /** Between the ports of well-known services and those of node ports and connections. */
  private static final int LEAST_ANY = 10_000;

  private static final int MOST_ANY = 30_000 - RedirectProxy.PORTS;
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
   * @param port the first port; 0: any
   * @throws OperationException naming the option where a port is not free
   */
  static PortBlock bind(List<IpAddress> addresses, int port) {
    OperationException failure = null;
    for (int i = 0; i < (port == 0 ? ATTEMPTS : 1); i++) {
      try {
        return new PortBlock(port == 0 ? anyPort() : port).open(addresses);
      } catch (OperationException e) {
        failure = e;
      }
    }
    throw failure;
  }

  /**
   * Returns a first port below those that the kernel gives to connections, which may have any of
   * them at any time.
   */
  private static int anyPort() {
    return ThreadLocalRandom.current().nextInt(LEAST_ANY, MOST_ANY);
  }

  private PortBlock open(List<IpAddress> addresses) {
    for (final IpAddress address : addresses) {
      for (int port = first; port < first + RedirectProxy.PORTS; port++) {
        String what = "UDP port " + port + " of " + address;
        try {
          final DatagramChannel datagram = DatagramChannel.open(family(address));
          datagrams.add(datagram);
          datagram.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BYTES);
          datagram.bind(socketAddress(address, port)).configureBlocking(false);
          what = "TCP port " + port + " of " + address;
          final ServerSocketChannel server = ServerSocketChannel.open(family(address));
          servers.add(server);
          server.bind(socketAddress(address, port), BACKLOG).configureBlocking(false);
        } catch (IOException e) {
          close();
          throw refused(what, e);
        }
      }
    }
    return this;
  }

  private static OperationException refused(String what, IOException cause) {
    return new OperationException(
        "--tofqdns-proxy-port: " + what + ": " + IoFailure.reason(cause), cause);
  }

  static StandardProtocolFamily family(IpAddress address) {
    return address.isIpv4() ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
  }

  static InetSocketAddress socketAddress(IpAddress address, int port) {
    try {
      return new InetSocketAddress(InetAddress.getByAddress(address.toBytes()), port);
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(address + " is no address", e);
    }
  }

  static int port(NetworkChannel channel) throws IOException {
    return ((InetSocketAddress) channel.getLocalAddress()).getPort();
  }

  int first() {
    return first;
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

  /** Closes a socket; what fails then cannot be repaired. */
  static void close(NetworkChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // The descriptor is gone all the same (close(2)).
    }
  }
}
