package agent.bindings.net;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * A raw(7) socket that receives the ICMPv6 messages of one type that are addressed to this node, in
 * the network namespace of the thread that opens it. For one thread at a time; receiving allocates
 * nothing.
 */
public final class Icmpv6Socket implements AutoCloseable {
  private static final int AF_INET6 = 10;
  private static final int SOCK_RAW_CLOEXEC_NONBLOCK = 3 | 0x80000 | 0x800;

  // linux/in.h, linux/in6.h and linux/icmpv6.h
  private static final int IPPROTO_IPV6 = 41;
  private static final int IPPROTO_ICMPV6 = 58;
  private static final int IPV6_RECVPKTINFO = 49;
  private static final int IPV6_PKTINFO = 50;
  private static final int ICMPV6_FILTER = 1;

  /** struct icmp6_filter: a bit for each type; a bit that is set blocks the type. */
  private static final int SIZE_OF_FILTER = 32;

  // asm-generic/socket.h
  private static final int SOL_SOCKET = 1;
  private static final int SO_RCVBUFFORCE = 33;

  /**
   * struct msghdr: name 8, name length 4, padding 4, vector 8, vector length 8, control 8, control
   * length 8, flags 4, padding 4.
   */
  private static final int SIZE_OF_MESSAGE = 56;

  private static final int VECTOR_OFFSET = 16;
  private static final int VECTOR_LENGTH_OFFSET = VECTOR_OFFSET + Long.BYTES;
  private static final int CONTROL_OFFSET = VECTOR_LENGTH_OFFSET + Long.BYTES;
  private static final int CONTROL_LENGTH_OFFSET = CONTROL_OFFSET + Long.BYTES;

  /** struct iovec: base 8, length 8. */
  private static final int SIZE_OF_VECTOR = 16;

  /** struct cmsghdr: length 8, level 4, type 4; then struct in6_pktinfo: address 16, index 4. */
  private static final int CONTROL_LEVEL_OFFSET = 8;

  private static final int CONTROL_TYPE_OFFSET = CONTROL_LEVEL_OFFSET + Integer.BYTES;
  private static final int INDEX_OFFSET = CONTROL_TYPE_OFFSET + Integer.BYTES + 16;
  private static final int SIZE_OF_CONTROL = INDEX_OFFSET + Long.BYTES;

  /** Messages that are longer are cut off. */
  private static final int MESSAGE_LENGTH = 128;

  private static final int QUEUE_BYTES = 1024 * 1024;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment state = arena.allocate(LibC.CALL_STATE);
  private final MemorySegment received = arena.allocate(MESSAGE_LENGTH, Long.BYTES);
  private final MemorySegment vector = arena.allocate(SIZE_OF_VECTOR, Long.BYTES);
  private final MemorySegment control = arena.allocate(SIZE_OF_CONTROL, Long.BYTES);
  private final MemorySegment message = arena.allocate(SIZE_OF_MESSAGE, Long.BYTES);
  private final ByteBuffer receivedBytes = received.asByteBuffer();
  private final int fd;

  private Icmpv6Socket() {
    vector.set(ADDRESS, 0, received);
    vector.set(JAVA_LONG, Long.BYTES, MESSAGE_LENGTH);
    message.set(ADDRESS, VECTOR_OFFSET, vector);
    message.set(JAVA_LONG, VECTOR_LENGTH_OFFSET, 1);
    message.set(ADDRESS, CONTROL_OFFSET, control);
    fd = LibC.socket(state, AF_INET6, SOCK_RAW_CLOEXEC_NONBLOCK, IPPROTO_ICMPV6);
  }

  /**
   * Opens a socket.
   *
   * @param type the ICMPv6 type that it receives
   * @throws BindingsException where the kernel refuses it, such as one without IPv6
   */
  public static Icmpv6Socket open(int type) {
    final Icmpv6Socket socket = new Icmpv6Socket();
    try {
      BindingsException.check(socket.fd, "ICMPv6 socket");
      socket.configure(type);
      return socket;
    } catch (BindingsException failure) {
      socket.close();
      throw failure;
    }
  }

  private void configure(int type) {
    final MemorySegment filter = arena.allocate(SIZE_OF_FILTER, Integer.BYTES);
    filter.fill((byte) 0xff);
    final long word = type / Integer.SIZE * (long) Integer.BYTES;
    filter.set(JAVA_INT, word, ~(1 << type % Integer.SIZE));
    set(IPPROTO_ICMPV6, ICMPV6_FILTER, filter, "filter of type " + type);
    set(IPPROTO_IPV6, IPV6_RECVPKTINFO, arena.allocateFrom(JAVA_INT, 1), "receiving interface");
    set(
        SOL_SOCKET,
        SO_RCVBUFFORCE,
        arena.allocateFrom(JAVA_INT, QUEUE_BYTES),
        "queue of " + QUEUE_BYTES + " bytes");
  }

  private void set(int level, int option, MemorySegment value, String what) {
    BindingsException.check(
        LibC.setsockopt(state, fd, level, option, value), "ICMPv6 socket: " + what);
  }

  /**
   * Reads one message into {@link #received()}; does not wait.
   *
   * @return its length in memory from the ICMPv6 header on, or -1 where there is none
   */
  public int receive() {
    message.set(JAVA_LONG, CONTROL_LENGTH_OFFSET, SIZE_OF_CONTROL);
    return LibC.receiveMessage(fd, message);
  }

  /** Returns the memory of the message that was read last, in network byte order. */
  public ByteBuffer received() {
    return receivedBytes;
  }

  /** Returns the index of the interface that received that message, or 0 where it is unknown. */
  public int receivedBy() {
    return message.get(JAVA_LONG, CONTROL_LENGTH_OFFSET) >= INDEX_OFFSET + Integer.BYTES
            && control.get(JAVA_INT, CONTROL_LEVEL_OFFSET) == IPPROTO_IPV6
            && control.get(JAVA_INT, CONTROL_TYPE_OFFSET) == IPV6_PKTINFO
        ? control.get(JAVA_INT, INDEX_OFFSET)
        : 0;
  }

  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      if (fd >= 0) {
        LibC.close(state, fd);
      }
      arena.close();
    }
  }
}
