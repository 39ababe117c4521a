package agent.testkit;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.stream.IntStream;

/** Sends complete frames from an interface as fast as one thread can. */
public final class PacketFlood {
  /** {@code struct sockaddr_ll}: family, protocol, interface index, and 12 bytes of the address. */
  private static final int ADDRESS_LENGTH = 20;

  private PacketFlood() {}

  /**
   * Sends frames by a packet socket (AF_PACKET).
   *
   * @param from the namespace of the interface
   * @param device name of the interface
   * @param frames how many
   * @param maker makes a frame by its number, from 0
   * @return the frames that the interface accepted
   */
  public static long send(NetworkNamespace from, String device, int frames, FrameMaker maker) {
    final int ifindex = VethPair.index(from, device);
    final byte[] address =
        ByteBuffer.allocate(ADDRESS_LENGTH)
            .order(ByteOrder.nativeOrder())
            .putShort((short) SystemCalls.AF_PACKET)
            .putShort((short) 0)
            .putInt(ifindex)
            .array();
    try {
      return from.run(() -> send(address, frames, maker));
    } catch (Exception failure) {
      throw new IllegalStateException("flood by " + device, failure);
    }
  }

  private static long send(byte[] address, int frames, FrameMaker maker) {
    final int fd = SystemCalls.socket(SystemCalls.AF_PACKET, SystemCalls.SOCK_RAW, 0);
    try {
      return IntStream.range(0, frames)
          .filter(number -> SystemCalls.sendTo(fd, maker.frame(number), address))
          .count();
    } finally {
      SystemCalls.closeDescriptor(fd);
    }
  }

  /** Makes the frames of a flood. */
  @FunctionalInterface
  public interface FrameMaker {
    /** Returns a frame from its Ethernet header on. */
    byte[] frame(int number);
  }
}
