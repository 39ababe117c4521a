package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A connection of HTTP/1.1 that a client keeps for many requests without a body. */
final class KeptConnection implements AutoCloseable {
  /** The next run of an agent that was killed serves what waits for it, within this time. */
  private static final int LONGEST_MS = 30_000;

  private static final String END = "\r\nContent-Length: 0\r\n\r\n";

  private final Socket socket;

  private KeptConnection(Socket socket) {
    this.socket = socket;
  }

  static KeptConnection open(NetworkNamespace client, String address, int port) throws Exception {
    final Socket socket =
        client.run(
            () -> {
              final Socket opened = new Socket();
              opened.connect(new InetSocketAddress(address, port), LONGEST_MS);
              return opened;
            });
    socket.setSoTimeout(LONGEST_MS);
    socket.setTcpNoDelay(true);
    return new KeptConnection(socket);
  }

  /** Sends a request (method and path), reads its answer and returns the status. */
  int request(String request) throws IOException {
    return request(request, List.of("Host: server"));
  }

  /** Sends a request with these fields, reads its answer and returns the status. */
  int request(String request, List<String> fields) throws IOException {
    socket
        .getOutputStream()
        .write(
            (request + " HTTP/1.1\r\n" + String.join("\r\n", fields) + END)
                .getBytes(StandardCharsets.US_ASCII));
    final InputStream in = socket.getInputStream();
    final HttpHead head = HttpHead.read(in);
    if (head.length() < 0) {
      throw new IOException("an answer without a length: " + head.text());
    }
    in.readNBytes(head.length());
    return head.status();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
