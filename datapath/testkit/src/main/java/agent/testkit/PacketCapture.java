package agent.testkit;

import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The frames of one protocol to one MAC address that a namespace receives (packet(7)). */
public final class PacketCapture implements AutoCloseable {
  private final int fd;
  private final String destinationMac;

  private PacketCapture(int fd, String destinationMac) {
    this.fd = fd;
    this.destinationMac = destinationMac;
  }

  /**
   * Begins to capture.
   *
   * @param etherType the Ethernet protocol of the frames
   */
  public static PacketCapture in(NetworkNamespace namespace, int etherType, String destinationMac) {
    final int protocolBe = Short.toUnsignedInt(Short.reverseBytes((short) etherType));
    return new PacketCapture(
        namespace.call(
            () -> SystemCalls.socket(SystemCalls.AF_PACKET, SystemCalls.SOCK_RAW, protocolBe)),
        destinationMac);
  }

  /** Waits for a frame and returns it with its Ethernet header, or empty after the time-out. */
  public Optional<byte[]> next(int timeoutMs) {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    Optional<byte[]> frame;
    do {
      final long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      frame = SystemCalls.receive(fd, (int) Math.max(0, left));
    } while (frame.isPresent() && !isExpected(frame.get()));
    return frame;
  }

  private boolean isExpected(byte[] frame) {
    return ParsedPacket.of(frame).destinationMac().equals(destinationMac);
  }

  @Override
  public void close() {
    SystemCalls.closeDescriptor(fd);
  }
}
