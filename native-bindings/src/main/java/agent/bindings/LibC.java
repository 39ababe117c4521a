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
final class LibC {
  static final StructLayout CALL_STATE = Linker.Option.captureStateLayout();

  private static final int AT_FDCWD = -100;
  private static final VarHandle ERRNO =
      CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final Linker LINKER = Linker.nativeLinker();

  private static final MethodHandle CLOSE =
      handle("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle MMAP =
      handle(
          "mmap",
          FunctionDescriptor.of(
              ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle MUNMAP =
      handle("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle MOUNT =
      handle(
          "mount", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
  private static final MethodHandle UNLINK =
      handle("unlink", FunctionDescriptor.of(JAVA_INT, ADDRESS));
  private static final MethodHandle STATFS =
      handle("statfs", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
  private static final MethodHandle STATX =
      plain(
          "statx", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle SEND =
      plain("send", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  private static final MethodHandle RECV =
      plain("recv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  private static final MethodHandle SENDTO =
      plain(
          "sendto",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT));
  private static final MethodHandle RECVMSG =
      plain("recvmsg", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT));
  private static final MethodHandle IOCTL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("ioctl"),
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle GETSOCKOPT =
      handle(
          "getsockopt",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));
  private static final MethodHandle EPOLL_CREATE =
      handle("epoll_create1", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle EPOLL_CTL =
      handle("epoll_ctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle EPOLL_WAIT =
      handle("epoll_wait", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT));
  private static final MethodHandle EVENTFD =
      handle("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle READ =
      handle("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle WRITE =
      handle("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle IF_NAMETOINDEX =
      handle("if_nametoindex", FunctionDescriptor.of(JAVA_INT, ADDRESS));
  private static final MethodHandle SOCKET =
      handle("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle SETSOCKOPT =
      handle(
          "setsockopt",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
  private static final MethodHandle BIND =
      handle("bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
  private static final MethodHandle LISTEN =
      handle("listen", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle CONNECT =
      handle("connect", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
  private static final MethodHandle OPEN =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("open"),
          FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle GETPEERNAME =
      handle("getpeername", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));
  private static final MethodHandle SETNS =
      handle("setns", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle SYSCALL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("syscall"),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(1));
  private static final MethodHandle FLOCK =
      handle("flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle GETRLIMIT =
      handle("getrlimit", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle UMASK =
      handle("umask", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle CLOCK_GETRES =
      handle("clock_getres", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle RECVFROM =
      handle(
          "recvfrom",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS));
  private static final MethodHandle VSNPRINTF =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("vsnprintf"),
          FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));

  private LibC() {}

  static MethodHandle handle(String name, FunctionDescriptor descriptor) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        descriptor,
        Linker.Option.captureCallState("errno"));
  }

  /**
   * Links a call whose errno is not read: capturing it creates a slice of the segment in each call,
   * which costs an allocation wherever the JIT compiler does not inline the whole call.
   */
  private static MethodHandle plain(String name, FunctionDescriptor descriptor) {
    return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor);
  }

  static int errno(MemorySegment state) {
    return (int) ERRNO.get(state, 0L);
  }

  static int close(MemorySegment state, int fd) {
    try {
      return result(state, (int) CLOSE.invokeExact(state, fd));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the mapping, or {@link MemorySegment#NULL} with errno in state. */
  static MemorySegment mmap(
      MemorySegment state, long length, int protection, int flags, int fd, long offset) {
    try {
      final MemorySegment address =
          (MemorySegment)
              MMAP.invokeExact(state, MemorySegment.NULL, length, protection, flags, fd, offset);
      return address.address() == -1L ? MemorySegment.NULL : address.reinterpret(length);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int munmap(MemorySegment state, MemorySegment mapping) {
    try {
      return result(state, (int) MUNMAP.invokeExact(state, mapping, mapping.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int mount(
      MemorySegment state,
      MemorySegment source,
      MemorySegment target,
      MemorySegment type,
      long flags,
      MemorySegment options) {
    try {
      return result(state, (int) MOUNT.invokeExact(state, source, target, type, flags, options));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int unlink(MemorySegment state, MemorySegment path) {
    try {
      return result(state, (int) UNLINK.invokeExact(state, path));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int statfs(MemorySegment state, MemorySegment path, MemorySegment buffer) {
    try {
      return result(state, (int) STATFS.invokeExact(state, path, buffer));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns 0 or -1, without errno. */
  static int statx(MemorySegment path, int flags, int mask, MemorySegment found) {
    try {
      return (int) STATX.invokeExact(AT_FDCWD, path, flags, mask, found);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  static int send(int fd, MemorySegment buffer) {
    try {
      return (int) (long) SEND.invokeExact(fd, buffer, buffer.byteSize(), 0);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  static int receive(int fd, MemorySegment buffer) {
    try {
      return (int) (long) RECV.invokeExact(fd, buffer, buffer.byteSize(), 0);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  static int sendTo(int fd, MemorySegment buffer, long length, MemorySegment address) {
    try {
      return (int)
          (long) SENDTO.invokeExact(fd, buffer, length, 0, address, (int) address.byteSize());
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the number of bytes or -1, without errno. */
  static int receiveMessage(int fd, MemorySegment message) {
    try {
      return (int) (long) RECVMSG.invokeExact(fd, message, 0);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int ioctl(MemorySegment state, int fd, long request, MemorySegment argument) {
    try {
      return result(state, (int) IOCTL.invokeExact(state, fd, request, argument));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int getsockopt(
      MemorySegment state,
      int fd,
      int level,
      int option,
      MemorySegment value,
      MemorySegment length) {
    try {
      return result(state, (int) GETSOCKOPT.invokeExact(state, fd, level, option, value, length));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int epollCreate(MemorySegment state, int flags) {
    try {
      return result(state, (int) EPOLL_CREATE.invokeExact(state, flags));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int epollControl(
      MemorySegment state, int epollFd, int operation, int fd, MemorySegment event) {
    try {
      return result(state, (int) EPOLL_CTL.invokeExact(state, epollFd, operation, fd, event));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int epollWait(
      MemorySegment state, int epollFd, MemorySegment events, int maxEvents, int timeoutMs) {
    try {
      return result(
          state, (int) EPOLL_WAIT.invokeExact(state, epollFd, events, maxEvents, timeoutMs));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int eventFd(MemorySegment state, int initial, int flags) {
    try {
      return result(state, (int) EVENTFD.invokeExact(state, initial, flags));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int read(MemorySegment state, int fd, MemorySegment buffer) {
    try {
      return result(state, (int) (long) READ.invokeExact(state, fd, buffer, buffer.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int write(MemorySegment state, int fd, MemorySegment buffer) {
    try {
      return result(state, (int) (long) WRITE.invokeExact(state, fd, buffer, buffer.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int socket(MemorySegment state, int family, int type, int protocol) {
    try {
      return result(state, (int) SOCKET.invokeExact(state, family, type, protocol));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int setsockopt(MemorySegment state, int fd, int level, int option, MemorySegment value) {
    try {
      return result(
          state,
          (int) SETSOCKOPT.invokeExact(state, fd, level, option, value, (int) value.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int bind(MemorySegment state, int fd, MemorySegment address) {
    try {
      return result(state, (int) BIND.invokeExact(state, fd, address, (int) address.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int listen(MemorySegment state, int fd, int backlog) {
    try {
      return result(state, (int) LISTEN.invokeExact(state, fd, backlog));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int connect(MemorySegment state, int fd, MemorySegment address) {
    try {
      return result(state, (int) CONNECT.invokeExact(state, fd, address, (int) address.byteSize()));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Opens an existing file; the flags must not include O_CREAT. */
  static int open(MemorySegment state, MemorySegment path, int flags) {
    try {
      return result(state, (int) OPEN.invokeExact(state, path, flags));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int getpeername(MemorySegment state, int fd, MemorySegment address, MemorySegment length) {
    try {
      return result(state, (int) GETPEERNAME.invokeExact(state, fd, address, length));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int setns(MemorySegment state, int fd, int type) {
    try {
      return result(state, (int) SETNS.invokeExact(state, fd, type));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Makes a system call that returns an int and that not every C library has a function for. */
  static int syscall(MemorySegment state, long number, long first, long second, long third) {
    try {
      return result(state, (int) (long) SYSCALL.invokeExact(state, number, first, second, third));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int flock(MemorySegment state, int fd, int operation) {
    try {
      return result(state, (int) FLOCK.invokeExact(state, fd, operation));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int getrlimit(MemorySegment state, int resource, MemorySegment limits) {
    try {
      return result(state, (int) GETRLIMIT.invokeExact(state, resource, limits));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int clockGetres(MemorySegment state, int clock, MemorySegment resolution) {
    try {
      return result(state, (int) CLOCK_GETRES.invokeExact(state, clock, resolution));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the previous mask; the call cannot fail. */
  static int umask(MemorySegment state, int mask) {
    try {
      return (int) UMASK.invokeExact(state, mask);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int recvfrom(
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
                      state, fd, buffer, buffer.byteSize(), flags, sender, senderLength));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Returns the interface index, or -errno. */
  static int interfaceIndex(MemorySegment state, MemorySegment name) {
    try {
      final int index = (int) IF_NAMETOINDEX.invokeExact(state, name);
      return index == 0 ? -errno(state) : index;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * Formats text into the buffer, truncated to its size, and returns the length of the whole text.
   */
  static int vsnprintf(MemorySegment buffer, MemorySegment format, MemorySegment arguments) {
    try {
      return (int) VSNPRINTF.invokeExact(buffer, buffer.byteSize(), format, arguments);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  static int result(MemorySegment state, int value) {
    return value < 0 ? -errno(state) : value;
  }

  /** Converts the Throwable that a downcall handle declares; only a linkage error can occur. */
  private static RuntimeException unexpected(Throwable t) {
    if (t instanceof Error error) {
      throw error;
    }
    if (t instanceof RuntimeException exception) {
      throw exception;
    }
    return new IllegalStateException(t);
  }
}
