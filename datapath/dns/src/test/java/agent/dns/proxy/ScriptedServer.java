package agent.dns.proxy;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Master;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;

/** A DNS server on the loopback interface, over UDP and TCP, whose script says what it sends. */
final class ScriptedServer implements AutoCloseable {
  private final DatagramSocket datagrams;
  private final ServerSocket server;
  final List<byte[]> questions = new CopyOnWriteArrayList<>();
  final List<SocketAddress> askers = new CopyOnWriteArrayList<>();
  volatile Script script = (question, reply) -> reply.send(answer(question, ""));

  /** What the server does with a question. */
  interface Script {
    void onQuestion(byte[] question, Reply reply) throws IOException;
  }

  /** The way back. */
  interface Reply {
    void send(byte[] message) throws IOException;
  }

  ScriptedServer() throws IOException {
    DatagramSocket udp = new DatagramSocket(0, InetAddress.getLoopbackAddress());
    ServerSocket tcp = ofSamePort(udp);
    while (tcp == null) {
      udp.close();
      udp = new DatagramSocket(0, InetAddress.getLoopbackAddress());
      tcp = ofSamePort(udp);
    }
    datagrams = udp;
    server = tcp;
    Thread.ofPlatform().daemon().start(this::receive);
    Thread.ofPlatform().daemon().start(this::accept);
  }

  private static ServerSocket ofSamePort(DatagramSocket udp) throws IOException {
    try {
      return new ServerSocket(udp.getLocalPort(), 50, InetAddress.getLoopbackAddress());
    } catch (java.net.BindException taken) {
      return null;
    }
  }

  InetSocketAddress address() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), datagrams.getLocalPort());
  }

  private void receive() {
    try {
      while (true) {
        final DatagramPacket packet = new DatagramPacket(new byte[65_535], 65_535);
        datagrams.receive(packet);
        final byte[] question = java.util.Arrays.copyOf(packet.getData(), packet.getLength());
        final Script then = script; // a test may change it once it sees the question
        questions.add(question);
        askers.add(packet.getSocketAddress());
        answer(then, question, packet.getSocketAddress());
      }
    } catch (IOException closed) {
      // The test has ended.
    }
  }

  private void answer(Script then, byte[] question, SocketAddress asker) {
    try {
      then.onQuestion(
          question, message -> datagrams.send(new DatagramPacket(message, message.length, asker)));
    } catch (IOException | RuntimeException malformed) {
      // Such a question has no answer.
    }
  }

  private void accept() {
    try {
      while (true) {
        final Socket socket = server.accept();
        Thread.ofPlatform().daemon().start(() -> serve(socket));
      }
    } catch (IOException closed) {
      // The test has ended.
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      final DataInputStream in = new DataInputStream(socket.getInputStream());
      final DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      while (true) {
        final byte[] question = in.readNBytes(in.readUnsignedShort());
        final Script then = script; // a test may change it once it sees the question
        questions.add(question);
        askers.add(socket.getRemoteSocketAddress());
        then.onQuestion(
            question,
            message -> {
              synchronized (out) {
                out.writeShort(message.length);
                out.write(message);
                out.flush();
              }
            });
      }
    } catch (IOException | RuntimeException closed) {
      // The client has closed, or asks what has no answer.
    }
  }

  /** Returns the answer to a question with the records of a zone. */
  static byte[] answer(byte[] question, String zone) throws IOException {
    return answer(question, 0, zone);
  }

  static byte[] answer(byte[] question, int code, String zone) throws IOException {
    final Message asked = new Message(question);
    final Message answer = new Message(asked.getHeader().getID());
    answer.getHeader().setFlag(Flags.QR);
    answer.getHeader().setRcode(code);
    answer.addRecord(asked.getQuestion(), Section.QUESTION);
    try (Master master = new Master(new java.io.ByteArrayInputStream(zone.getBytes()), Name.root)) {
      for (Record next = master.nextRecord(); next != null; next = master.nextRecord()) {
        answer.addRecord(next, Section.ANSWER);
      }
    }
    final byte[] wire = answer.toWire();
    // The case of the question stays as it was asked.
    final int end = wire.length < question.length ? wire.length : question.length;
    for (int i = 12; i < end && question[i] != 0; i++) {
      wire[i] = question[i];
    }
    return wire;
  }

  @Override
  public void close() throws IOException {
    datagrams.close();
    server.close();
  }
}
