package agent.bindings;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The agent's system calls other than bpf(2), made through the C library. A call that sets errno
 * writes it into its first argument, a segment with the layout {@link #CALL_STATE}.
 */
@SuppressWarnings("restricted") // links native functions and reinterprets segments
public final class LibC {
  /** Where a call writes errno. */
  public static final StructLayout CALL_STATE = Linker.Option.captureStateLayout();

  private static final long AT_FDCWD = -100;
  private static final MemorySegment NULL = MemorySegment.NULL;
  private static final VarHandle ERRNO =
      CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final Linker LINKER = Linker.nativeLinker();

  private static final MethodHandle CLOSE = CallShape.link("close", CallShape.NUMBERS);
  private static final MethodHandle MMAP = CallShape.link("mmap", CallShape.ADDRESS_FIRST);
  private static final MethodHandle MUNMAP = CallShape.link("munmap", CallShape.ADDRESS_FIRST);
  private static final MethodHandle MOUNT = CallShape.link("mount", CallShape.ADDRESSES);
  private static final MethodHandle UMOUNT2 = CallShape.link("umount2", CallShape.ADDRESS_FIRST);
  private static final MethodHandle UNLINK = CallShape.link("unlink", CallShape.ADDRESS_FIRST);
  private static final MethodHandle STATFS = CallShape.link("statfs", CallShape.ADDRESSES);
  private static final MethodHandle STATX = CallShape.linkPlain("statx", CallShape.MESSAGE);
  private static final MethodHandle SEND = CallShape.linkPlain("send", CallShape.MESSAGE);
  private static final MethodHandle RECV = CallShape.linkPlain("recv", CallShape.MESSAGE);
  private static final MethodHandle SENDTO = CallShape.linkPlain("sendto", CallShape.MESSAGE);
  private static final MethodHandle RECVMSG = CallShape.linkPlain("recvmsg", CallShape.MESSAGE);
  private static final MethodHandle IOCTL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("ioctl"),
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle GETSOCKOPT = CallShape.link("getsockopt", CallShape.OPTION);
  private static final MethodHandle EPOLL_CREATE =
      CallShape.link("epoll_create1", CallShape.NUMBERS);
  private static final MethodHandle EPOLL_CTL = CallShape.link("epoll_ctl", CallShape.OPTION);
  private static final MethodHandle EPOLL_WAIT =
      CallShape.link("epoll_wait", CallShape.ADDRESS_SECOND);
  private static final MethodHandle EVENTFD = CallShape.link("eventfd", CallShape.NUMBERS);
  private static final MethodHandle READ = CallShape.link("read", CallShape.ADDRESS_SECOND);
  private static final MethodHandle WRITE = CallShape.link("write", CallShape.ADDRESS_SECOND);
  private static final MethodHandle IF_NAMETOINDEX =
      CallShape.link("if_nametoindex", CallShape.ADDRESS_FIRST);
  private static final MethodHandle SOCKET = CallShape.link("socket", CallShape.NUMBERS);
  private static final MethodHandle SETSOCKOPT = CallShape.link("setsockopt", CallShape.OPTION);
  private static final MethodHandle BIND = CallShape.link("bind", CallShape.ADDRESS_SECOND);
  private static final MethodHandle LISTEN = CallShape.link("listen", CallShape.NUMBERS);
  private static final MethodHandle CONNECT = CallShape.link("connect", CallShape.ADDRESS_SECOND);
  private static final MethodHandle OPEN = CallShape.link("open", CallShape.ADDRESS_FIRST);
  private static final MethodHandle GETPEERNAME =
      CallShape.link("getpeername", CallShape.ADDRESS_SECOND);
  private static final MethodHandle SETNS = CallShape.link("setns", CallShape.NUMBERS);
  private static final MethodHandle SYSCALL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("syscall"),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(1));
  private static final MethodHandle FLOCK = CallShape.link("flock", CallShape.NUMBERS);
  private static final MethodHandle GETRLIMIT =
      CallShape.link("getrlimit", CallShape.ADDRESS_SECOND);
  private static final MethodHandle UMASK = CallShape.link("umask", CallShape.NUMBERS);
  private static final MethodHandle CLOCK_GETRES =
      CallShape.link("clock_getres", CallShape.ADDRESS_SECOND);
  private static final MethodHandle RECVFROM = CallShape.link("recvfrom", CallShape.ADDRESS_SECOND);
  private static final MethodHandle VSNPRINTF = CallShape.link("vsnprintf", CallShape.ADDRESSES);

  private LibC() {}

  /** Returns what the last call with this state wrote. */
  public static int errno(MemorySegment state) {
    return (int) ERRNO.get(state, 0L);
  }

  public static int close(MemorySegment state, int fd) {
    try {
      return result(state, (int) (long) CLOSE.invokeExact(state, (long) fd, 0L, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the mapping, or {@link MemorySegment#NULL} with errno in state. */
  static MemorySegment mmap(
      MemorySegment state, long length, int protection, int flags, int fd, long offset) {
    try {
      final long address =
          (long)
              MMAP.invokeExact(
                  state, NULL, length, (long) protection, (long) flags, (long) fd, offset);
      return address == -1L ? NULL : MemorySegment.ofAddress(address).reinterpret(length);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int munmap(MemorySegment state, MemorySegment mapping) {
    try {
      return result(
          state,
          (int) (long) MUNMAP.invokeExact(state, mapping, mapping.byteSize(), 0L, 0L, 0L, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int mount(
      MemorySegment state,
      MemorySegment source,
      MemorySegment target,
      MemorySegment type,
      long flags,
      MemorySegment options) {
    try {
      return result(
          state, (int) (long) MOUNT.invokeExact(state, source, target, type, flags, options));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int unmount(MemorySegment state, MemorySegment target, int flags) {
    try {
      return result(
          state, (int) (long) UMOUNT2.invokeExact(state, target, (long) flags, 0L, 0L, 0L, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int unlink(MemorySegment state, MemorySegment path) {
    try {
      return result(state, (int) (long) UNLINK.invokeExact(state, path, 0L, 0L, 0L, 0L, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int statfs(MemorySegment state, MemorySegment path, MemorySegment buffer) {
    try {
      return result(state, (int) (long) STATFS.invokeExact(state, path, buffer, NULL, 0L, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns 0 or -1, without errno. */
  public static int statx(MemorySegment path, int flags, int mask, MemorySegment found) {
    try {
      return (int) (long) STATX.invokeExact(AT_FDCWD, path, (long) flags, (long) mask, found, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  public static int send(int fd, MemorySegment buffer) {
    try {
      return (int) (long) SEND.invokeExact((long) fd, buffer, buffer.byteSize(), 0L, NULL, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  public static int receive(int fd, MemorySegment buffer) {
    try {
      return (int) (long) RECV.invokeExact((long) fd, buffer, buffer.byteSize(), 0L, NULL, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  public static int sendTo(int fd, MemorySegment buffer, long length, MemorySegment address) {
    try {
      return (int)
          (long) SENDTO.invokeExact((long) fd, buffer, length, 0L, address, address.byteSize());
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  public static int receiveMessage(int fd, MemorySegment message) {
    try {
      return (int) (long) RECVMSG.invokeExact((long) fd, message, 0L, 0L, NULL, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int ioctl(MemorySegment state, int fd, long request, MemorySegment argument) {
    try {
      return result(state, (int) IOCTL.invokeExact(state, fd, request, argument));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int getsockopt(
      MemorySegment state,
      int fd,
      int level,
      int option,
      MemorySegment value,
      MemorySegment length) {
    try {
      return result(
          state,
          (int)
              (long)
                  GETSOCKOPT.invokeExact(
                      state, (long) fd, (long) level, (long) option, value, length.address()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int epollCreate(MemorySegment state, int flags) {
    try {
      return result(state, (int) (long) EPOLL_CREATE.invokeExact(state, (long) flags, 0L, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int epollControl(
      MemorySegment state, int epollFd, int operation, int fd, MemorySegment event) {
    try {
      return result(
          state,
          (int)
              (long)
                  EPOLL_CTL.invokeExact(
                      state, (long) epollFd, (long) operation, (long) fd, event, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int epollWait(
      MemorySegment state, int epollFd, MemorySegment events, int maxEvents, int timeoutMs) {
    try {
      return result(
          state,
          (int)
              (long)
                  EPOLL_WAIT.invokeExact(
                      state,
                      (long) epollFd,
                      events,
                      (long) maxEvents,
                      (long) timeoutMs,
                      NULL,
                      NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int eventFd(MemorySegment state, int initial, int flags) {
    try {
      return result(
          state, (int) (long) EVENTFD.invokeExact(state, (long) initial, (long) flags, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int read(MemorySegment state, int fd, MemorySegment buffer) {
    try {
      return result(
          state,
          (int)
              (long) READ.invokeExact(state, (long) fd, buffer, buffer.byteSize(), 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int write(MemorySegment state, int fd, MemorySegment buffer) {
    try {
      return result(
          state,
          (int)
              (long)
                  WRITE.invokeExact(state, (long) fd, buffer, buffer.byteSize(), 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int socket(MemorySegment state, int family, int type, int protocol) {
    try {
      return result(
          state,
          (int) (long) SOCKET.invokeExact(state, (long) family, (long) type, (long) protocol));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int setsockopt(
      MemorySegment state, int fd, int level, int option, MemorySegment value) {
    try {
      return result(
          state,
          (int)
              (long)
                  SETSOCKOPT.invokeExact(
                      state, (long) fd, (long) level, (long) option, value, value.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int bind(MemorySegment state, int fd, MemorySegment address) {
    try {
      return result(
          state,
          (int)
              (long)
                  BIND.invokeExact(state, (long) fd, address, address.byteSize(), 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int listen(MemorySegment state, int fd, int backlog) {
    try {
      return result(state, (int) (long) LISTEN.invokeExact(state, (long) fd, (long) backlog, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int connect(MemorySegment state, int fd, MemorySegment address) {
    try {
      return result(
          state,
          (int)
              (long)
                  CONNECT.invokeExact(
                      state, (long) fd, address, address.byteSize(), 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Opens an existing file; the flags must not include O_CREAT. */
  public static int open(MemorySegment state, MemorySegment path, int flags) {
    try {
      return result(
          state, (int) (long) OPEN.invokeExact(state, path, (long) flags, 0L, 0L, 0L, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int getpeername(
      MemorySegment state, int fd, MemorySegment address, MemorySegment length) {
    try {
      return result(
          state,
          (int)
              (long)
                  GETPEERNAME.invokeExact(
                      state, (long) fd, address, length.address(), 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int setns(MemorySegment state, int fd, int type) {
    try {
      return result(state, (int) (long) SETNS.invokeExact(state, (long) fd, (long) type, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Makes a system call that returns an int and that not every C library has a function for. */
  public static int syscall(MemorySegment state, long number, long first, long second, long third) {
    try {
      return result(state, (int) (long) SYSCALL.invokeExact(state, number, first, second, third));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int flock(MemorySegment state, int fd, int operation) {
    try {
      return result(state, (int) (long) FLOCK.invokeExact(state, (long) fd, (long) operation, 0L));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int getrlimit(MemorySegment state, int resource, MemorySegment limits) {
    try {
      return result(
          state,
          (int) (long) GETRLIMIT.invokeExact(state, (long) resource, limits, 0L, 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int clockGetres(MemorySegment state, int clock, MemorySegment resolution) {
    try {
      return result(
          state,
          (int)
              (long) CLOCK_GETRES.invokeExact(state, (long) clock, resolution, 0L, 0L, NULL, NULL));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the previous mask; the call cannot fail. */
  public static int umask(MemorySegment state, int mask) {
    try {
      return (int) (long) UMASK.invokeExact(state, (long) mask, 0L, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  public static int recvfrom(
      MemorySegment state,
      int fd,
      MemorySegment buffer,
      int flags,
      MemorySegment sender,
      MemorySegment senderLength) {
    try {
      return result(
          state,
          (int)
              (long)
                  RECVFROM.invokeExact(
                      state,
                      (long) fd,
                      buffer,
                      buffer.byteSize(),
                      (long) flags,
                      sender,
                      senderLength));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the interface index, or -errno. */
  public static int interfaceIndex(MemorySegment state, MemorySegment name) {
    try {
      final int index = (int) (long) IF_NAMETOINDEX.invokeExact(state, name, 0L, 0L, 0L, 0L, 0L);
      return index == 0 ? -errno(state) : index;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * Formats text into the buffer, truncated to its size, and returns the length of the whole text.
   */
  public static int vsnprintf(
      MemorySegment state, MemorySegment buffer, MemorySegment format, MemorySegment arguments) {
    try {
      return (int)
          (long)
              VSNPRINTF.invokeExact(
                  state,
                  buffer,
                  MemorySegment.ofAddress(buffer.byteSize()),
                  format,
                  arguments.address(),
                  NULL);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the value, or -errno where it is -1. */
  public static int result(MemorySegment state, int value) {
    return value < 0 ? -errno(state) : value;
  }

  /** Converts the Throwable that a downcall handle declares; only a linkage error can occur. */
  public static RuntimeException unexpected(Throwable t) {
    if (t instanceof Error error) {
      throw error;
    }
    if (t instanceof RuntimeException exception) {
      throw exception;
    }
    return new IllegalStateException(t);
  }
}
