package agent.launcher.process;

import java.io.IOException;
import java.net.Socket;
import java.util.Arrays;

/** Bytes that a server sends back, more than the buffers on the way hold. */
final class EchoedBytes {
  private EchoedBytes() {}

  /** Sends bytes while it reads as many, and returns whether these are the same. */
  static boolean comeBack(Socket socket, byte[] sent) throws Exception {
    final Thread writer = Thread.ofVirtual().start(() -> write(socket, sent));
    final boolean isSame = Arrays.equals(sent, socket.getInputStream().readNBytes(sent.length));
    writer.join();
    return isSame;
  }

  private static void write(Socket socket, byte[] bytes) {
    try {
      socket.getOutputStream().write(bytes);
    } catch (IOException ended) {
      return; // the reader says so
    }
  }
}
