package agent.bindings.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import agent.bindings.Errno;
import agent.bindings.EventPoll;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A netlink(7) socket in the network namespace of the thread that opens it: of rtnetlink(7) unless
 * another protocol is named. For one thread at a time. After an exception the socket can only be
 * closed, because answers may still arrive.
 */
public final class NetlinkSocket implements AutoCloseable {
  /** Links (RTNLGRP_LINK in {@code linux/rtnetlink.h}, as are the groups below). */
  public static final int GROUP_LINK = 1;

  /** Neighbours (RTNLGRP_NEIGH). */
  public static final int GROUP_NEIGHBOUR = 3;

  /** IPv4 addresses (RTNLGRP_IPV4_IFADDR). */
  public static final int GROUP_IPV4_ADDRESS = 5;

  /** IPv4 routes (RTNLGRP_IPV4_ROUTE). */
  public static final int GROUP_IPV4_ROUTE = 7;

  /** IPv6 addresses (RTNLGRP_IPV6_IFADDR). */
  public static final int GROUP_IPV6_ADDRESS = 9;

  /** IPv6 routes (RTNLGRP_IPV6_ROUTE). */
  public static final int GROUP_IPV6_ROUTE = 11;

  /** IPv4 parameters of devices, such as forwarding (RTNLGRP_IPV4_NETCONF). */
  public static final int GROUP_IPV4_PARAMETER = 24;

  /** IPv6 parameters of devices (RTNLGRP_IPV6_NETCONF). */
  public static final int GROUP_IPV6_PARAMETER = 25;

  private static final int AF_NETLINK = 16;
  private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int NETLINK_ROUTE = 0;

  /** IPsec policies and states (NETLINK_XFRM in {@code linux/netlink.h}, as is the next). */
  public static final int XFRM = 6;

  /** Netfilter (NETLINK_NETFILTER). */
  public static final int NETFILTER = 12;

  private static final int MSG_TRUNC = 0x20;

  // asm-generic/socket.h
  private static final int SOL_SOCKET = 1;
  private static final int SO_RCVTIMEO = 20;
  private static final int SO_RCVBUFFORCE = 33;

  // linux/socket.h and linux/netlink.h
  private static final int SOL_NETLINK = 270;
  private static final int NETLINK_ADD_MEMBERSHIP = 1;
  private static final int NETLINK_CAP_ACK = 10;
  private static final int NETLINK_EXT_ACK = 11;
  private static final int NETLINK_GET_STRICT_CHK = 12;

  /** struct sockaddr_nl: family 2, padding 2, port id 4, groups 4. */
  private static final int SIZE_OF_ADDRESS = 12;

  private static final int ADDRESS_PORT_ID_OFFSET = 4;
  private static final long TIMEOUT_SEC = 10;

  /** The kernel sends lists in datagrams of at most 32 KiB (netlink_dump, af_netlink.c). */
  private static final int RECEIVE_LENGTH = 32 * 1024;

  /** Size of the receive buffer for events, in bytes of kernel memory. */
  private static final int EVENT_QUEUE_BYTES = 4 * 1024 * 1024;

  /**
   * Requests per system call; their acknowledgements of about one kilobyte each must fit into the
   * receive buffer, which is 208 KiB by default (rmem_default).
   */
  private static final int BATCH_REQUESTS = 64;

  private static final int LIST_TRIES = 16;

  private final Arena arena;
  private final MemorySegment state;
  private final MemorySegment received;
  private final MemorySegment sender;
  private final MemorySegment senderLength;
  private final ByteBuffer receivedBytes;
  private final NetlinkMessageFlyweight messages = new NetlinkMessageFlyweight();
  private final int fd;
  private int sequence;

  /**
   * A request of {@link #requestAll} that failed.
   *
   * @param index position of the request in the list
   * @param cause the failure
   */
  public record Failure(int index, NetlinkException cause) {}

  private NetlinkSocket(Arena arena, int flags, int protocol) {
    this.arena = arena;
    state = arena.allocate(LibC.CALL_STATE);
    received = arena.allocate(RECEIVE_LENGTH, Long.BYTES);
    sender = arena.allocate(SIZE_OF_ADDRESS, Integer.BYTES);
    senderLength = arena.allocate(JAVA_INT);
    receivedBytes = received.asByteBuffer().order(ByteOrder.nativeOrder());
    fd = LibC.socket(state, AF_NETLINK, SOCK_RAW_CLOEXEC | flags, protocol);
  }

  /**
   * Opens a socket for requests. A request waits at most 10 seconds for an answer.
   *
   * @return the socket, which only the opening thread may use
   * @throws NetlinkException if the kernel creates no socket
   */
  public static NetlinkSocket open() {
    return open(NETLINK_ROUTE);
  }

  /**
   * Opens a socket of another protocol for requests, as {@link #open()}.
   *
   * @param protocol such as {@link #NETFILTER}
   * @throws NetlinkException EPROTONOSUPPORT where the kernel lacks the protocol
   */
  public static NetlinkSocket open(int protocol) {
    final NetlinkSocket socket = new NetlinkSocket(Arena.ofConfined(), 0, protocol);
    socket.configure(
        () -> {
          final MemorySegment timeout = socket.arena.allocate(2 * Long.BYTES, Long.BYTES);
          timeout.set(JAVA_LONG, 0, TIMEOUT_SEC);
          socket.set(SOL_SOCKET, SO_RCVTIMEO, timeout);
        });
    return socket;
  }

  /**
   * Opens a non-blocking socket that receives events, for {@link #receive()}.
   *
   * @param groups numbers such as {@link #GROUP_LINK}
   * @return the socket, for one thread at a time
   * @throws NetlinkException if the kernel creates no socket
   */
  public static NetlinkSocket subscribe(int... groups) {
    final NetlinkSocket socket = new NetlinkSocket(Arena.ofShared(), SOCK_NONBLOCK, NETLINK_ROUTE);
    socket.configure(
        () -> {
          socket.bind();
          socket.set(SOL_SOCKET, SO_RCVBUFFORCE, EVENT_QUEUE_BYTES);
          for (final int group : groups) {
            socket.set(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group);
          }
        });
    return socket;
  }

  private void configure(Runnable rest) {
    if (fd < 0) {
      arena.close();
      throw new NetlinkException("netlink socket", fd, "");
    }
    try {
      set(SOL_NETLINK, NETLINK_CAP_ACK, 1);
      set(SOL_NETLINK, NETLINK_EXT_ACK, 1);
      set(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
      rest.run();
    } catch (NetlinkException failure) {
      close();
      throw failure;
    }
  }

  /** Makes the kernel assign a port id, without which the socket receives no events. */
  private void bind() {
    sender.set(JAVA_SHORT, 0, (short) AF_NETLINK);
    final int result = LibC.bind(state, fd, sender);
    if (result < 0) {
      throw new NetlinkException("netlink socket: bind", result, "");
    }
  }

  private void set(int level, int option, int value) {
    senderLength.set(JAVA_INT, 0, value);
    set(level, option, senderLength);
  }

  private void set(int level, int option, MemorySegment value) {
    final int result = LibC.setsockopt(state, fd, level, option, value);
    if (result < 0) {
      throw new NetlinkException("netlink socket: option " + level + "/" + option, result, "");
    }
  }

  /** Returns the descriptor, for {@link EventPoll}. */
  public int fd() {
    return fd;
  }

  /**
   * Sends requests, many per system call, and waits until the kernel has executed all of them in
   * order; a failed request does not stop the others.
   *
   * @param requests requests that the kernel answers with an acknowledgement only
   * @return the failures, in the order of the requests
   * @throws NetlinkException if the socket fails; the requests may or may not have been executed
   */
  public List<Failure> requestAll(List<NetlinkRequest> requests) {
    final List<Failure> failures = new ArrayList<>();
    for (int from = 0; from < requests.size(); from += BATCH_REQUESTS) {
      final int to = Math.min(requests.size(), from + BATCH_REQUESTS);
      batch(requests, from, to, failures);
    }
    return failures;
  }

  private void batch(List<NetlinkRequest> requests, int from, int to, List<Failure> failures) {
    final int first = send(requests.subList(from, to));
    int left = to - from;
    while (left > 0) {
      await(requests.get(to - left));
      while (messages.next()) {
        final int index = from + messages.sequence() - first;
        if (messages.type() == NetlinkQuery.NLMSG_ERROR && index >= from && index < to) {
          left--;
          NetlinkQuery.failure(requests.get(index).operation(), messages)
              .ifPresent(failure -> failures.add(new Failure(index, failure)));
        }
      }
    }
  }

  /**
   * Sends a request and reads its answers. If the list changes during the read, it is read again.
   *
   * @param request a request for an object or a list
   * @param decoder converts an answer to an element, or to empty to skip it; the flyweight is valid
   *     only during the call
   * @return the decoded elements, in the kernel's order
   * @throws NetlinkException with the kernel's error number and explanation; EINTR if the list
   *     changed during each read
   */
  public <T> List<T> query(
      NetlinkRequest request, Function<NetlinkMessageFlyweight, Optional<T>> decoder) {
    for (int i = 0; i < LIST_TRIES; i++) {
      final NetlinkQuery<T> query =
          new NetlinkQuery<>(request.operation(), send(List.of(request)), decoder);
      do {
        await(request);
      } while (!query.read(messages));
      if (!query.isInterrupted()) {
        return query.answers();
      }
    }
    throw new NetlinkException(
        request.operation(),
        Errno.EINTR,
        "the list changed during each of " + LIST_TRIES + " reads");
  }

  /**
   * Sends the requests and returns the sequence number of the first; the others follow in order.
   */
  private int send(List<NetlinkRequest> requests) {
    final int first = sequence + 1;
    try (Arena scratch = Arena.ofConfined()) {
      final MemorySegment bytes =
          scratch.allocate((long) requests.size() * NetlinkRequest.MAX_LENGTH, Integer.BYTES);
      long length = 0;
      for (final NetlinkRequest request : requests) {
        final MemorySegment message = MemorySegment.ofBuffer(request.encode(++sequence));
        MemorySegment.copy(message, 0, bytes, length, message.byteSize());
        length += message.byteSize();
      }
      final int sent = LibC.write(state, fd, bytes.asSlice(0, length));
      if (sent < 0) {
        throw new NetlinkException(requests.getFirst().operation() + ": send", sent, "");
      }
    }
    return first;
  }

  private void await(NetlinkRequest request) {
    final int length = receive();
    if (length == -Errno.EAGAIN) {
      throw new NetlinkException(
          request.operation(), Errno.ETIMEDOUT, "no answer within " + TIMEOUT_SEC + " seconds");
    }
    if (length < 0) {
      throw new NetlinkException(request.operation() + ": receive", length, "");
    }
  }

  /**
   * Reads one datagram from the kernel into {@link #messages()}. Allocates nothing.
   *
   * @return its length; -EAGAIN if none is available; -ENOBUFS if events were lost, so that the
   *     caller must list the objects again; -EMSGSIZE for a datagram that is too long and therefore
   *     lost; another -errno if the socket fails
   */
  public int receive() {
    while (true) {
      senderLength.set(JAVA_INT, 0, SIZE_OF_ADDRESS);
      final int length = LibC.recvfrom(state, fd, received, MSG_TRUNC, sender, senderLength);
      if (length == -Errno.EINTR || length >= 0 && !isFromKernel()) {
        continue;
      }
      messages.wrap(receivedBytes, length < 0 || length > RECEIVE_LENGTH ? 0 : length);
      return length > RECEIVE_LENGTH ? -Errno.EMSGSIZE : length;
    }
  }

  /** Returns the messages of the last datagram. */
  public NetlinkMessageFlyweight messages() {
    return messages;
  }

  /**
   * Returns whether the kernel sent the datagram; privileged processes can also send to this
   * socket.
   */
  private boolean isFromKernel() {
    return senderLength.get(JAVA_INT, 0) == SIZE_OF_ADDRESS
        && sender.get(JAVA_INT, ADDRESS_PORT_ID_OFFSET) == 0;
  }

  @Override
  public void close() {
    LibC.close(state, fd);
    arena.close();
  }
}
