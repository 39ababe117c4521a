package agent.testkit;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Segments of TCP above 64 KiB (BIG TCP), which the length fields of IP cannot tell: lets
 * interfaces carry them, and counts those that a namespace receives.
 */
public final class LargeSegments implements AutoCloseable {
  private static final int AF_NETLINK = 16;
  private static final int NETLINK_ROUTE = 0;
  private static final int RTM_NEWLINK = 16;
  private static final int REQUEST_AND_ACK = 0x1 | 0x4;
  private static final int NLMSG_ERROR = 2;
  private static final int IFLA_GSO_MAX_SIZE = 41;
  private static final int IFLA_GRO_MAX_SIZE = 58;
  private static final int IFLA_GSO_IPV4_MAX_SIZE = 63;
  private static final int IFLA_GRO_IPV4_MAX_SIZE = 64;
  private static final int[] SIZES = {
    IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE
  };
  private static final int HEADER_BYTES = 16;
  private static final int LINK_BYTES = 16;
  private static final int ATTRIBUTE_BYTES = 8;
  private static final int ANSWER_MS = 2000;
  private static final int STEP_MS = 50;

  /** The largest length of an IP packet, and one byte. */
  private static final int LARGE_BYTES = 65_536;

  private static final int ETH_P_ALL_BE = 0x0300;

  private final int fd;
  private final AtomicInteger received = new AtomicInteger();
  private final Thread reader;
  private volatile boolean isClosed;

  private LargeSegments(NetworkNamespace namespace) throws Exception {
    fd =
        namespace.run(
            () -> SystemCalls.socket(SystemCalls.AF_PACKET, SystemCalls.SOCK_DGRAM, ETH_P_ALL_BE));
    reader = Thread.ofPlatform().name("large-segments").daemon().start(this::read);
  }

  /** Allows both sides of a pair to carry segments of this many bytes, of both families. */
  public static void allow(VethPair pair, int bytes) throws Exception {
    allow(pair.host(), pair.hostIfindex(), bytes);
    allow(pair.workload(), pair.workloadIfindex(), bytes);
  }

  private static void allow(NetworkNamespace namespace, int ifindex, int bytes) throws Exception {
    final int length = HEADER_BYTES + LINK_BYTES + SIZES.length * ATTRIBUTE_BYTES;
    final ByteBuffer message =
        ByteBuffer.allocate(length)
            .order(ByteOrder.nativeOrder())
            .putInt(length)
            .putShort((short) RTM_NEWLINK)
            .putShort((short) REQUEST_AND_ACK)
            .putLong(0)
            .putInt(0)
            .putInt(ifindex)
            .putLong(0);
    for (final int size : SIZES) {
      message.putShort((short) ATTRIBUTE_BYTES).putShort((short) size).putInt(bytes);
    }
    final Optional<byte[]> answer = namespace.run(() -> exchange(message.array()));
    final ByteBuffer read = ByteBuffer.wrap(answer.orElseThrow()).order(ByteOrder.nativeOrder());
    if (read.getShort(4) != NLMSG_ERROR || read.getInt(16) != 0) {
      throw new IllegalStateException("rtnetlink: " + read.getInt(16));
    }
  }

  private static Optional<byte[]> exchange(byte[] message) {
    final int fd = SystemCalls.socket(AF_NETLINK, SystemCalls.SOCK_RAW, NETLINK_ROUTE);
    try {
      final byte[] kernel =
          ByteBuffer.allocate(12)
              .order(ByteOrder.nativeOrder())
              .putShort(0, (short) AF_NETLINK)
              .array();
      SystemCalls.sendTo(fd, message, kernel);
      return SystemCalls.receive(fd, ANSWER_MS);
    } finally {
      SystemCalls.closeDescriptor(fd);
    }
  }

  /** Begins to count in a namespace. */
  public static LargeSegments in(NetworkNamespace namespace) throws Exception {
    return new LargeSegments(namespace);
  }

  private void read() {
    while (!isClosed) {
      final Optional<byte[]> packet = SystemCalls.receive(fd, STEP_MS);
      if (packet.isPresent() && packet.get().length >= LARGE_BYTES) {
        received.incrementAndGet();
      }
    }
  }

  /** Returns how many packets had more bytes than an IP packet can tell. */
  public int received() {
    return received.get();
  }

  @Override
  public void close() {
    isClosed = true;
    TcpConnection.join(reader);
    SystemCalls.closeDescriptor(fd);
  }
}
