package agent.bindings.net;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A packet(7) socket in the network namespace of the thread that opens it. It sends Ethernet frames
 * by any interface, and receives those frames of one protocol that its filter accepts, after the
 * programs at the ingress hook of their interface. For one thread at a time; sending and receiving
 * allocate nothing.
 *
 * <pre>
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-------------------------------+-------------------------------+
 *  |             family            |     protocol (big-endian)     |
 *  +-------------------------------+-------------------------------+
 *  |                        interface index                        |
 *  +-------------------------------+---------------+---------------+
 *  |         hardware type         |  packet type  |    length     |
 *  +-------------------------------+---------------+---------------+
 *  |                       hardware address                        |
 *  |                                                               |
 *  +---------------------------------------------------------------+
 * </pre>
 *
 * is {@code struct sockaddr_ll} of {@code linux/if_packet.h}.
 */
public final class PacketSocket implements AutoCloseable {
  private static final int AF_PACKET = 17;
  private static final int SOCK_RAW_CLOEXEC_NONBLOCK = 3 | 0x80000 | 0x800;

  // asm-generic/socket.h
  private static final int SOL_SOCKET = 1;
  private static final int SO_ATTACH_FILTER = 26;
  private static final int SO_RCVBUFFORCE = 33;

  private static final int PROTOCOL_OFFSET = 2;
  private static final int INDEX_OFFSET = PROTOCOL_OFFSET + 2;
  private static final int SIZE_OF_ADDRESS = INDEX_OFFSET + 16;

  /** struct sock_fprog of linux/filter.h: length 2, padding 6, instructions 8. */
  private static final int SIZE_OF_PROGRAM = 16;

  private static final int PROGRAM_OFFSET = 8;

  /** Frames that are longer are cut off. */
  private static final int FRAME_LENGTH = 128;

  private static final int QUEUE_BYTES = 1024 * 1024;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment state = arena.allocate(LibC.CALL_STATE);
  private final MemorySegment sent = arena.allocate(FRAME_LENGTH, Long.BYTES);
  private final MemorySegment received = arena.allocate(FRAME_LENGTH, Long.BYTES);
  private final MemorySegment address = arena.allocate(SIZE_OF_ADDRESS, Integer.BYTES);
  private final MemorySegment addressLength = arena.allocate(JAVA_INT);
  private final ByteBuffer sentBytes = sent.asByteBuffer();
  private final ByteBuffer receivedBytes = received.asByteBuffer();
  private final int fd;

  private PacketSocket() {
    fd = LibC.socket(state, AF_PACKET, SOCK_RAW_CLOEXEC_NONBLOCK, 0);
  }

  /**
   * Opens a socket.
   *
   * @param protocol the Ethernet protocol that it receives
   * @param filter instructions of classic BPF ({@link #instruction}) on the frame with its Ethernet
   *     header
   * @throws BindingsException where the kernel refuses it
   */
  public static PacketSocket open(int protocol, long... filter) {
    final PacketSocket socket = new PacketSocket();
    try {
      BindingsException.check(socket.fd, "packet socket");
      socket.configure(protocol, filter);
      return socket;
    } catch (BindingsException failure) {
      socket.close();
      throw failure;
    }
  }

  /** Receives nothing before the filter is attached. */
  private void configure(int protocol, long[] filter) {
    final MemorySegment program = arena.allocate(SIZE_OF_PROGRAM, Long.BYTES);
    program.set(JAVA_SHORT, 0, (short) filter.length);
    program.set(ADDRESS, PROGRAM_OFFSET, arena.allocateFrom(JAVA_LONG, filter));
    set(SO_ATTACH_FILTER, program, "filter");
    addressLength.set(JAVA_INT, 0, QUEUE_BYTES);
    set(SO_RCVBUFFORCE, addressLength, "queue of " + QUEUE_BYTES + " bytes");
    addressedTo(0, protocol);
    BindingsException.check(LibC.bind(state, fd, address), "packet socket: bind");
  }

  private void set(int option, MemorySegment value, String what) {
    BindingsException.check(
        LibC.setsockopt(state, fd, SOL_SOCKET, option, value), "packet socket: " + what);
  }

  private void addressedTo(int interfaceIndex, int protocol) {
    address.fill((byte) 0);
    address.set(JAVA_SHORT, 0, (short) AF_PACKET);
    address.set(JAVA_SHORT, PROTOCOL_OFFSET, bigEndian(protocol));
    address.set(JAVA_INT, INDEX_OFFSET, interfaceIndex);
  }

  private static short bigEndian(int protocol) {
    final short value = (short) protocol;
    return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Short.reverseBytes(value);
  }

  /**
   * Returns one instruction of classic BPF ({@code struct sock_filter} of {@code linux/filter.h}).
   *
   * @param code operation
   * @param jumpTrue instructions to skip where a comparison is true
   * @param jumpFalse instructions to skip where it is false
   * @param value operand
   */
  public static long instruction(int code, int jumpTrue, int jumpFalse, int value) {
    final ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
    bytes.putShort((short) code).put((byte) jumpTrue).put((byte) jumpFalse).putInt(value);
    return bytes.getLong(0);
  }

  /** Returns the memory of the frame to send, 128 bytes in network byte order. */
  public ByteBuffer toSend() {
    return sentBytes;
  }

  /**
   * Sends the frame in {@link #toSend()}.
   *
   * @param interfaceIndex the interface
   * @param protocol the Ethernet protocol of the frame
   * @param length length of the frame in bytes
   * @return whether the kernel took it; not where the interface is gone or down
   */
  public boolean send(int interfaceIndex, int protocol, int length) {
    addressedTo(interfaceIndex, protocol);
    return LibC.sendTo(fd, sent, length, address) == length;
  }

  /**
   * Reads one frame into {@link #received()}; does not wait.
   *
   * @return its length in memory, or -errno; -EAGAIN where there is none
   */
  public int receive() {
    addressLength.set(JAVA_INT, 0, SIZE_OF_ADDRESS);
    return LibC.recvfrom(state, fd, received, 0, address, addressLength);
  }

  /** Returns the memory of the frame that was read last, in network byte order. */
  public ByteBuffer received() {
    return receivedBytes;
  }

  /** Returns the index of the interface that received that frame. */
  public int receivedBy() {
    return address.get(JAVA_INT, INDEX_OFFSET);
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
