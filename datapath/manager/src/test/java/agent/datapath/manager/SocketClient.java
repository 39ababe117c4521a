package agent.datapath.manager;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;

/** A socket's family with a service of it; an IPv6 socket may have an IPv4 peer. */
enum SocketClient {
  IPV4(StandardProtocolFamily.INET, "10.96.0.1", "127.0.0.1"),
  IPV6(StandardProtocolFamily.INET6, "fd96:1:2:3:4:5:6:7", "::1"),
  MAPPED(StandardProtocolFamily.INET6, "10.96.0.1", "127.0.0.1");

  /** The port of the service. */
  static final int PORT = 80;

  final ProtocolFamily family;
  final String frontend;
  final String backend;

  SocketClient(ProtocolFamily family, String frontend, String backend) {
    this.family = family;
    this.frontend = frontend;
    this.backend = backend;
  }

  InetSocketAddress service() throws IOException {
    return new InetSocketAddress(InetAddress.ofLiteral(frontend), PORT);
  }
}
