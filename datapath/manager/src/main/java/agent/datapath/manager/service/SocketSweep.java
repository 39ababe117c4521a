package agent.datapath.manager.service;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfIterator;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.net.NetworkNamespaceHandle;
import agent.bindings.process.ProcessSocket;
import agent.conductor.Work;
import agent.maps.layout.FoundSocketFlag;
import agent.maps.layout.FoundSocketFlyweight;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.agrona.collections.LongHashSet;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One search for the sockets whose backend has gone. A connected socket of datagrams is connected
 * to another backend, without the process noticing; others end, network namespace by network
 * namespace. Each step reads one buffer. For the thread {@code dp-sockets}.
 */
final class SocketSweep implements Work {
  private static final int UDP = 17;
  private static final int RECORDS = 512;
  private static final int BUFFER_BYTES = RECORDS * FoundSocketFlyweight.LENGTH;

  /** How a search ends. */
  interface Listener {
    /**
     * The search is complete.
     *
     * @param moved number of sockets that have another backend
     * @param ended number of sockets that have ended
     * @param left why there may be others; null where there are none
     */
    void swept(long moved, long ended, String left);

    /** The search was given up. */
    void failed(RuntimeException failure);
  }

  private final NetworkNamespaceHandle own;
  private final List<BpfProgram> endings;
  private final boolean moves;
  private final Listener listener;
  private final UnsafeBuffer records = new UnsafeBuffer(0, 0);
  private final MemorySegment buffer;
  private final FoundSocketFlyweight found = new FoundSocketFlyweight();
  private final Map<Integer, NetworkNamespaceHandle> namespaces = new HashMap<>();
  private final LongHashSet movedCookies = new LongHashSet();
  private final ArrayDeque<Ending> endingsLeft = new ArrayDeque<>();
  private BpfIterator iterator;
  private boolean isFinding = true;
  private String left;
  private long moved;
  private long ended;

  private record Ending(NetworkNamespaceHandle namespace, BpfProgram program) {}

  /**
   * Begins a search.
   *
   * @param own the network namespace of the thread
   * @param finding the program that finds sockets
   * @param endings the programs that end sockets of one namespace; empty where the kernel has no
   *     way to
   * @param moves whether the hooks give a socket that connects a backend
   * @param buffer at least {@link #BUFFER_BYTES}
   */
  SocketSweep(
      NetworkNamespaceHandle own,
      BpfProgram finding,
      List<BpfProgram> endings,
      boolean moves,
      MemorySegment buffer,
      Listener listener) {
    this.own = own;
    this.endings = endings;
    this.moves = moves;
    this.listener = listener;
    this.buffer = buffer;
    records.wrap(buffer.address(), BUFFER_BYTES);
    iterator = BpfIterator.open(finding);
  }

  /** Returns the size of the buffer that a search needs. */
  static int bufferBytes() {
    return BUFFER_BYTES;
  }

  @Override
  public Progress step() {
    final int length = iterator.read(buffer);
    if (length > 0 && isFinding) {
      for (int i = 0; i < length; i += FoundSocketFlyweight.LENGTH) {
        onFound(found.wrap(records, i));
      }
    } else if (length > 0) {
      onEnded(length / Integer.BYTES);
    } else if (length == 0) {
      return next();
    }
    return Progress.WORKED;
  }

  private void onFound(FoundSocketFlyweight socket) {
    final boolean isServed = moves && FoundSocketFlag.SERVED.isIn(socket.flags());
    final boolean isMovable = socket.protocol() == UDP && (isServed || endings.isEmpty());
    final boolean isNew = !endings.isEmpty() && !namespaces.containsKey(socket.netInode());
    if (!isMovable && !isNew) {
      return;
    }
    try {
      final Optional<ProcessSocket> opened =
          ProcessSocket.open(socket.process(), socket.descriptor(), socket.cookie());
      if (opened.isPresent()) {
        try (ProcessSocket other = opened.get()) {
          if (!(isMovable && leaves(other, socket, isServed)) && isNew) {
            namespaces.put(socket.netInode(), other.namespace());
          }
        }
      }
    } catch (BindingsException refused) {
      left = refused.getMessage();
    }
  }

  /**
   * The hook at {@code connect} gives the socket a backend, as it gave it the one before. Its
   * process may have connected it to another peer since it was found; between the look at its peer
   * and the call the kernel has no way to exclude that. One that several processes have is moved
   * once. Returns false where there is no other backend by now; on a kernel that ends no sockets
   * the connection is dissolved then.
   */
  private boolean leaves(ProcessSocket other, FoundSocketFlyweight socket, boolean isServed) {
    if (movedCookies.contains(socket.cookie()) || !isConnectedStill(other, socket)) {
      return true;
    }
    final int result = isServed ? connect(other, socket) : -Errno.ECONNREFUSED;
    if (result == 0) {
      movedCookies.add(socket.cookie());
      moved++;
    } else if (result != -Errno.ECONNREFUSED || endings.isEmpty()) {
      // Where the hook has refused nothing, its host has no way to the other backend.
      ended += other.disconnect() == 0 ? 1 : 0;
    }
    return result != -Errno.ECONNREFUSED;
  }

  /**
   * Without the hooks, which go with the last service, the kernel names the backend as the peer.
   */
  private boolean isConnectedStill(ProcessSocket other, FoundSocketFlyweight socket) {
    final boolean isIpv6 = FoundSocketFlag.IPV6.isIn(socket.flags());
    return moves
        ? other.isConnectedTo(
            isIpv6,
            socket.frontendAddressHigh(),
            socket.frontendAddressLow(),
            socket.frontendPort())
        : other.isConnectedTo(
            isIpv6, socket.backendAddressHigh(), socket.backendAddressLow(), socket.backendPort());
  }

  private static int connect(ProcessSocket other, FoundSocketFlyweight socket) {
    return other.connect(
        FoundSocketFlag.IPV6.isIn(socket.flags()),
        socket.frontendAddressHigh(),
        socket.frontendAddressLow(),
        socket.frontendPort());
  }

  private void onEnded(int count) {
    for (int i = 0; i < count; i++) {
      if (records.getInt(i * Integer.BYTES) == 0) {
        ended++;
      }
    }
  }

  private Progress next() {
    iterator.close();
    iterator = null;
    if (isFinding) {
      isFinding = false;
      end(own); // sockets of the kernel itself are in no process
      namespaces.values().forEach(this::end);
    }
    final Ending ending = endingsLeft.poll();
    if (ending == null) {
      close();
      listener.swept(moved, ended, left);
      return Progress.DONE;
    }
    iterator = ending.namespace.run(own, () -> BpfIterator.open(ending.program));
    return Progress.WORKED;
  }

  private void end(NetworkNamespaceHandle namespace) {
    endings.forEach(program -> endingsLeft.add(new Ending(namespace, program)));
  }

  @Override
  public void failed(RuntimeException failure) {
    close();
    listener.failed(failure);
  }

  private void close() {
    if (iterator != null) {
      iterator.close();
      iterator = null;
    }
    namespaces.values().forEach(NetworkNamespaceHandle::close);
    namespaces.clear();
  }
}
