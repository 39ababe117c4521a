package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Waits for readable descriptors (epoll(7)). One thread waits, without allocation; {@link
 * #wakeUp()} is for any thread.
 */
public final class EventPoll implements AutoCloseable {
  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int EFD_CLOEXEC = 0x80000;
  private static final int EFD_NONBLOCK = 0x800;
  private static final int EPOLL_CTL_ADD = 1;
  private static final int EPOLLIN = 1;
  private static final int MAX_EVENTS = 16;

  /** struct epoll_event is packed on x86-64 alone (linux/eventpoll.h). */
  private static final int DATA_OFFSET = isPacked() ? 4 : 8;

  private static final int EVENT_SIZE = DATA_OFFSET + 8;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment waitState = arena.allocate(LibC.CALL_STATE);
  private final MemorySegment wakeState = arena.allocate(LibC.CALL_STATE);
  private final MemorySegment events = arena.allocate((long) MAX_EVENTS * EVENT_SIZE, 8);
  private final MemorySegment one = arena.allocateFrom(JAVA_LONG, 1L);
  private final MemorySegment drained = arena.allocate(JAVA_LONG);
  private final int epollFd;
  private final int wakeUpFd;
  private boolean isClosed;

  /**
   * Creates an empty set.
   *
   * @throws BindingsException where the kernel gives no descriptor
   */
  public EventPoll() {
    epollFd = BindingsException.check(LibC.epollCreate(waitState, EPOLL_CLOEXEC), "epoll_create1");
    wakeUpFd =
        BindingsException.check(LibC.eventFd(waitState, 0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    add(wakeUpFd);
  }

  /** Watches a descriptor for input. */
  public void add(int fd) {
    try (Arena scratch = Arena.ofConfined()) {
      final MemorySegment event = scratch.allocate(EVENT_SIZE, 8);
      event.set(JAVA_INT, 0, EPOLLIN);
      event.set(JAVA_LONG_UNALIGNED, DATA_OFFSET, fd);
      BindingsException.check(
          LibC.epollControl(scratch.allocate(LibC.CALL_STATE), epollFd, EPOLL_CTL_ADD, fd, event),
          "epoll_ctl: add descriptor " + fd);
    }
  }

  /**
   * Waits until a descriptor has input, the time is over, or {@link #wakeUp()}.
   *
   * @param timeoutMs 0 does not wait, -1 waits without limit
   * @return how many descriptors have input, wake-ups not counted; -errno (-EINTR among them)
   */
  public int await(int timeoutMs) {
    final int ready = LibC.epollWait(waitState, epollFd, events, MAX_EVENTS, timeoutMs);
    int count = 0;
    for (int i = 0; i < ready; i++) {
      if (events.get(JAVA_LONG_UNALIGNED, (long) i * EVENT_SIZE + DATA_OFFSET) == wakeUpFd) {
        LibC.read(waitState, wakeUpFd, drained);
      } else {
        count++;
      }
    }
    return ready < 0 ? ready : count;
  }

  /** Makes the current or the next {@link #await(int)} return; for any thread, also after close. */
  public synchronized void wakeUp() {
    if (!isClosed) {
      LibC.write(wakeState, wakeUpFd, one);
    }
  }

  /** Closes the descriptors; called by the waiting thread or after it has ended. */
  @Override
  public synchronized void close() {
    if (isClosed) {
      return;
    }
    isClosed = true;
    Descriptors.close(wakeUpFd);
    Descriptors.close(epollFd);
    arena.close();
  }

  private static boolean isPacked() {
    final String architecture = System.getProperty("os.arch");
    return architecture.equals("amd64") || architecture.equals("x86_64");
  }
}
