package agent.testkit;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A raw socket (raw(7)) of an IP protocol in a namespace, whose packets hold texts. */
public final class RawSocket implements AutoCloseable {
  private static final int IPV4_BYTES = 4;
  private static final int SOCKADDR_IN_BYTES = 16;
  private static final int SOCKADDR_IN6_BYTES = 28;

  private final int fd;

  private RawSocket(int fd) {
    this.fd = fd;
  }

  /** Opens a socket that sends from, and receives what is sent to, an address. */
  public static RawSocket open(NetworkNamespace namespace, String address, int protocol) {
    final byte[] local = socketAddress(address);
    final int family = address.contains(":") ? SystemCalls.AF_INET6 : SystemCalls.AF_INET;
    return namespace.call(
        () -> {
          final int fd = SystemCalls.socket(family, SystemCalls.SOCK_RAW, protocol);
          SystemCalls.bind(fd, local);
          return new RawSocket(fd);
        });
  }

  private static byte[] socketAddress(String address) {
    final byte[] bytes = InetAddress.ofLiteral(address).getAddress();
    final boolean isIpv4 = bytes.length == IPV4_BYTES;
    final ByteBuffer socketAddress =
        ByteBuffer.allocate(isIpv4 ? SOCKADDR_IN_BYTES : SOCKADDR_IN6_BYTES)
            .order(ByteOrder.nativeOrder())
            .putShort((short) (isIpv4 ? SystemCalls.AF_INET : SystemCalls.AF_INET6))
            .putShort((short) 0);
    if (!isIpv4) {
      socketAddress.putInt(0);
    }
    return socketAddress.put(bytes).array();
  }

  /** Sends bytes, which follow the IP header. */
  public void send(String address, byte[] content) {
    SystemCalls.sendTo(fd, content, socketAddress(address));
  }

  /** Sends a text behind 16 bytes of zeros. */
  public void send(String address, String text) {
    final byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    send(address, ByteBuffer.allocate(16 + bytes.length).put(16, bytes).array());
  }

  /** Waits for a packet, and returns it as the kernel has it: of IPv4 with its IP header. */
  public Optional<byte[]> receive(int timeoutMs) {
    return SystemCalls.receive(fd, timeoutMs);
  }

  /** Returns whether a packet arrives that ends with the text. */
  public boolean receives(String text, int timeoutMs) {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    Optional<byte[]> packet;
    do {
      final long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      packet = receive((int) Math.max(0, left));
    } while (packet.isPresent()
        && !new String(packet.get(), StandardCharsets.ISO_8859_1).endsWith(text));
    return packet.isPresent();
  }

  @Override
  public void close() {
    SystemCalls.closeDescriptor(fd);
  }
}
