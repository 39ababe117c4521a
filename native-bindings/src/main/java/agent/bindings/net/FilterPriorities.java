package agent.bindings.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import agent.bindings.BindingsException;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Reads which priority runs first among the filters of a clsact qdisc, through a socket and memory
 * of its own and without allocating. Interfaces are those of the network namespace in which the
 * object was created. Not thread-safe.
 */
public final class FilterPriorities implements AutoCloseable {
  private static final int AF_NETLINK = 16;
  private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
  private static final int SOL_SOCKET = 1;
  private static final int SO_RCVTIMEO = 20;
  private static final int RECEIVE_BYTES = 32 * 1024;

  // linux/netlink.h and linux/rtnetlink.h
  private static final int NLMSG_ERROR = 2;
  private static final int NLMSG_DONE = 3;
  private static final short RTM_GETTFILTER = 46;
  private static final int RTM_NEWTFILTER = 44;
  private static final short REQUEST_DUMP = 0x301;
  private static final int HEADER_BYTES = 16;
  private static final int TYPE_OFFSET = 4;
  private static final int FLAGS_OFFSET = 6;
  private static final int SEQUENCE_OFFSET = 8;

  // struct tcmsg, after the header
  private static final int IFINDEX_OFFSET = HEADER_BYTES + 4;
  private static final int PARENT_OFFSET = IFINDEX_OFFSET + 8;
  private static final int INFO_OFFSET = PARENT_OFFSET + 4;
  private static final int REQUEST_BYTES = INFO_OFFSET + 4;
  private static final int PRIORITY_SHIFT = 16;
  private static final int CLSACT_INGRESS = 0xFFFF_FFF2;
  private static final int CLSACT_EGRESS = 0xFFFF_FFF3;
  private static final int TCA_CHAIN = 11;
  private static final int ATTRIBUTE_BYTES = 4;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment state = arena.allocate(LibC.CALL_STATE);
  private final MemorySegment request = arena.allocate(REQUEST_BYTES, Integer.BYTES);
  private final MemorySegment received = arena.allocate(RECEIVE_BYTES, Integer.BYTES);
  private final int fd;
  private int sequence;
  private int first;

  /**
   * Opens the socket.
   *
   * @throws BindingsException if the kernel creates none
   */
  public FilterPriorities() {
    fd = LibC.socket(state, AF_NETLINK, SOCK_RAW_CLOEXEC, 0);
    if (fd < 0) {
      arena.close();
      throw new BindingsException("netlink socket for filters", fd);
    }
    final MemorySegment timeout = arena.allocate(2 * Long.BYTES, Long.BYTES);
    timeout.set(JAVA_LONG, 0, 1); // seconds
    LibC.setsockopt(state, fd, SOL_SOCKET, SO_RCVTIMEO, timeout);
    request.set(JAVA_INT, 0, REQUEST_BYTES);
    request.set(JAVA_SHORT, TYPE_OFFSET, RTM_GETTFILTER);
    request.set(JAVA_SHORT, FLAGS_OFFSET, REQUEST_DUMP);
  }

  /**
   * Returns the smallest priority of the filters of a hook in the chain that packets enter; such a
   * filter runs first.
   *
   * @return the priority, 0 if the hook has no filter, or -1 if the socket failed
   */
  public int first(int ifindex, boolean ingress) {
    request.set(JAVA_INT, SEQUENCE_OFFSET, ++sequence);
    request.set(JAVA_INT, IFINDEX_OFFSET, ifindex);
    request.set(JAVA_INT, PARENT_OFFSET, ingress ? CLSACT_INGRESS : CLSACT_EGRESS);
    int result = LibC.send(fd, request);
    first = 0;
    while (result > 0) {
      result = LibC.receive(fd, received);
      if (result > 0 && readMessages(result)) {
        return first;
      }
    }
    return result;
  }

  /** Reads the messages of one datagram; returns whether the answer is complete. */
  private boolean readMessages(int length) {
    int offset = 0;
    while (offset + HEADER_BYTES <= length) {
      final int size = received.get(JAVA_INT, offset);
      if (size < HEADER_BYTES) {
        return true;
      }
      if (received.get(JAVA_INT, offset + SEQUENCE_OFFSET) == sequence) {
        final int type = received.get(JAVA_SHORT, offset + TYPE_OFFSET);
        if (type == NLMSG_DONE || type == NLMSG_ERROR) {
          return true;
        }
        if (type == RTM_NEWTFILTER && !isOtherChain(offset, size)) {
          final int priority = received.get(JAVA_INT, offset + INFO_OFFSET) >>> PRIORITY_SHIFT;
          first = first == 0 ? priority : Math.min(first, priority);
        }
      }
      offset += align(size);
    }
    return false;
  }

  private boolean isOtherChain(int message, int size) {
    int offset = message + REQUEST_BYTES;
    while (offset + ATTRIBUTE_BYTES <= message + size) {
      final int length = received.get(JAVA_SHORT, offset) & 0xffff;
      if (length < ATTRIBUTE_BYTES) {
        return false;
      }
      if ((received.get(JAVA_SHORT, offset + 2) & 0x3fff) == TCA_CHAIN) {
        return received.get(JAVA_INT, offset + ATTRIBUTE_BYTES) != 0;
      }
      offset += align(length);
    }
    return false;
  }

  private static int align(int length) {
    return length + 3 & -4;
  }

  @Override
  public void close() {
    LibC.close(state, fd);
    arena.close();
  }
}
