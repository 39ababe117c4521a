package agent.dns.proxy;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;

/** An end of a connection that is not the proxy's. */
class TcpPeer implements AutoCloseable {
  final Socket socket;
  final DataInputStream in;
  private final DataOutputStream out;

  TcpPeer(Socket socket) throws IOException {
    this.socket = socket;
    socket.setSoTimeout(10_000);
    in = new DataInputStream(socket.getInputStream());
    out = new DataOutputStream(socket.getOutputStream());
  }

  TcpPeer(InetSocketAddress proxy) throws IOException {
    this(new Socket(proxy.getAddress(), proxy.getPort()));
  }

  void send(byte[] message) throws IOException {
    out.writeShort(message.length);
    out.write(message);
    out.flush();
  }

  byte[] receive() throws IOException {
    return in.readNBytes(in.readUnsignedShort());
  }

  /** Returns whether the proxy has closed the connection. */
  boolean isEnded() throws IOException {
    try {
      return in.read() < 0;
    } catch (SocketException reset) {
      return true;
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
