import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Lookups for the training run, whose machine may have neither server nor client of DNS. {@code
 * serve ADDRESS} answers each question with an address of its own; {@code ask ADDRESS COUNT} asks
 * for new names, one after the other.
 */
class Lookups {
  private static final int PORT = 53;
  private static final int WAIT_MS = 300;
  private static final int MOST_LOST = 20;

  public static void main(String[] arguments) throws IOException {
    final InetAddress server = InetAddress.getByName(arguments[1]);
    if (arguments[0].equals("serve")) {
      serve(server);
    } else {
      ask(server, Integer.parseInt(arguments[2]));
    }
  }

  private static void serve(InetAddress address) throws IOException {
    try (DatagramSocket socket = new DatagramSocket(PORT, address)) {
      for (int number = 1; ; number++) {
        final DatagramPacket packet = new DatagramPacket(new byte[512], 512);
        socket.receive(packet);
        final ByteBuffer message = ByteBuffer.wrap(packet.getData());
        message.putShort(2, (short) 0x8180).putShort(6, (short) 1).position(packet.getLength());
        // The name of the question, type A, class IN, 300 s, an address of four bytes.
        message.putShort((short) 0xc00c).putShort((short) 1).putShort((short) 1).putInt(300);
        message.putShort((short) 4).putInt(198 << 24 | 18 << 16 | number & 0xffff);
        socket.send(
            new DatagramPacket(packet.getData(), message.position(), packet.getSocketAddress()));
      }
    }
  }

  private static void ask(InetAddress server, int count) throws IOException {
    int lost = 0;
    int asked = 0;
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.setSoTimeout(WAIT_MS);
      socket.connect(new InetSocketAddress(server, PORT));
      for (; asked < count && lost < MOST_LOST; asked++) {
        final byte[] question = question(asked);
        socket.send(new DatagramPacket(question, question.length));
        try {
          socket.receive(new DatagramPacket(new byte[512], 512));
        } catch (SocketTimeoutException e) {
          lost++;
        }
      }
    }
    System.out.println(asked + " names asked for, " + lost + " questions without an answer");
  }

  private static byte[] question(int number) {
    final ByteBuffer message = ByteBuffer.allocate(512);
    message.putShort((short) number).putShort((short) 0x0100).putShort((short) 1).position(12);
    for (final String label : new String[] {"n" + number, "training"}) {
      message.put((byte) label.length()).put(label.getBytes(StandardCharsets.US_ASCII));
    }
    message.put((byte) 0).putShort((short) 1).putShort((short) 1);
    return Arrays.copyOf(message.array(), message.position());
  }
}
