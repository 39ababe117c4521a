package agent.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/** Calls functions of the C library for tests; a failure throws with the errno. */
final class SystemCalls {
  static final int CLONE_NEWNET = 0x40000000;
  static final int AF_INET = 2;
  static final int AF_INET6 = 10;
  static final int AF_PACKET = 17;
  static final int SOCK_DGRAM = 2;
  static final int SOCK_RAW = 3;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURED.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  private static final MethodHandle OPEN =
      handle("open", FunctionDescriptor.of(INT, ValueLayout.ADDRESS, INT));
  private static final MethodHandle CLOSE = handle("close", FunctionDescriptor.of(INT, INT));
  private static final MethodHandle SETNS = handle("setns", FunctionDescriptor.of(INT, INT, INT));
  private static final MethodHandle UNSHARE = handle("unshare", FunctionDescriptor.of(INT, INT));
  private static final MethodHandle MOUNT =
      handle(
          "mount",
          FunctionDescriptor.of(
              INT,
              ValueLayout.ADDRESS,
              ValueLayout.ADDRESS,
              ValueLayout.ADDRESS,
              LONG,
              ValueLayout.ADDRESS));
  private static final MethodHandle UMOUNT2 =
      handle("umount2", FunctionDescriptor.of(INT, ValueLayout.ADDRESS, INT));
  private static final MethodHandle GETEUID = handle("geteuid", FunctionDescriptor.of(INT));
  private static final MethodHandle SYSCALL =
      handle("syscall", FunctionDescriptor.of(LONG, LONG, LONG, ValueLayout.ADDRESS, LONG));
  private static final MethodHandle SOCKET =
      handle("socket", FunctionDescriptor.of(INT, INT, INT, INT));
  private static final MethodHandle BIND =
      handle("bind", FunctionDescriptor.of(INT, INT, ValueLayout.ADDRESS, INT));
  private static final MethodHandle SENDTO =
      handle(
          "sendto",
          FunctionDescriptor.of(
              LONG, INT, ValueLayout.ADDRESS, LONG, INT, ValueLayout.ADDRESS, INT));
  private static final MethodHandle RECV =
      handle("recv", FunctionDescriptor.of(LONG, INT, ValueLayout.ADDRESS, LONG, INT));
  private static final MethodHandle POLL =
      handle("poll", FunctionDescriptor.of(INT, ValueLayout.ADDRESS, LONG, INT));

  private static final MethodHandle IOCTL =
      handle(
          "ioctl",
          FunctionDescriptor.of(INT, INT, LONG, ValueLayout.ADDRESS),
          Linker.Option.firstVariadicArg(2));

  private static final MethodHandle SCHED_GETAFFINITY = affinityHandle("sched_getaffinity");
  private static final MethodHandle SCHED_SETAFFINITY = affinityHandle("sched_setaffinity");
  private static final int CPU_SET_BYTES = 128; // cpu_set_t of sched.h

  private static final long SIOCETHTOOL = 0x8946; // linux/sockios.h
  private static final int ETHTOOL_STXCSUM = 0x17; // linux/ethtool.h
  private static final int SIOCGIFINDEX = 0x8933;
  private static final int SIOCGIFHWADDR = 0x8927;
  private static final int SIOCSIFFLAGS = 0x8914;
  private static final short IFF_UP = 1; // linux/if.h
  private static final int IFREQ_BYTES = 40;
  private static final int IFREQ_DATA_OFFSET = 16;
  private static final int SOCKADDR_DATA_OFFSET = IFREQ_DATA_OFFSET + 2;
  private static final int MAC_BYTES = 6;
  private static final int MNT_DETACH = 2; // sys/mount.h
  private static final long MS_BIND = 4096;

  private SystemCalls() {}

  /** Makes the stack of the calling thread's namespace complete checksums before an interface. */
  static void completeChecksums(String interfaceName) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment value = arena.allocate(2L * Integer.BYTES, Integer.BYTES);
      value.set(INT, 0, ETHTOOL_STXCSUM);
      final MemorySegment request = arena.allocate(IFREQ_BYTES, Long.BYTES);
      request.set(ValueLayout.ADDRESS, IFREQ_DATA_OFFSET, value);
      askInterface(SIOCETHTOOL, interfaceName, request);
    }
  }

  /** Returns the index of an interface of the calling thread's namespace. */
  static int interfaceIndex(String interfaceName) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment request = arena.allocate(IFREQ_BYTES, Long.BYTES);
      askInterface(SIOCGIFINDEX, interfaceName, request);
      return request.get(INT, IFREQ_DATA_OFFSET);
    }
  }

  /** Returns the MAC address of an interface of the calling thread's namespace. */
  static byte[] hardwareAddress(String interfaceName) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment request = arena.allocate(IFREQ_BYTES, Long.BYTES);
      askInterface(SIOCGIFHWADDR, interfaceName, request);
      return request.asSlice(SOCKADDR_DATA_OFFSET, MAC_BYTES).toArray(ValueLayout.JAVA_BYTE);
    }
  }

  /** Sets an interface of the calling thread's namespace up, and all other flags to zero. */
  static void setUp(String interfaceName) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment request = arena.allocate(IFREQ_BYTES, Long.BYTES);
      request.set(ValueLayout.JAVA_SHORT, IFREQ_DATA_OFFSET, IFF_UP);
      askInterface(SIOCSIFFLAGS, interfaceName, request);
    }
  }

  /** Calls ioctl with a {@code struct ifreq} (linux/if.h), into which it writes the name. */
  private static void askInterface(long call, String interfaceName, MemorySegment request) {
    final int fd = socket(AF_INET, SOCK_DGRAM, 0);
    try (Arena arena = Arena.ofConfined()) {
      request.setString(0, interfaceName);
      final MemorySegment state = arena.allocate(CAPTURED);
      check("ioctl " + interfaceName, state, (int) IOCTL.invokeExact(state, fd, call, request));
    } catch (Throwable failure) {
      throw sneaky(failure);
    } finally {
      closeDescriptor(fd);
    }
  }

  private static MethodHandle affinityHandle(String name) {
    return handle(name, FunctionDescriptor.of(INT, INT, LONG, ValueLayout.ADDRESS));
  }

  @SuppressWarnings("restricted")
  private static MethodHandle handle(
      String name, FunctionDescriptor descriptor, Linker.Option... others) {
    final Linker.Option[] options = Arrays.copyOf(others, others.length + 1);
    options[others.length] = Linker.Option.captureCallState("errno");
    return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor, options);
  }

  /** Moves the calling thread into the network namespace that is mounted at the path. */
  static void enterNetworkNamespace(String path) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment text = arena.allocateFrom(path, StandardCharsets.UTF_8);
      final int fd = check("open " + path, state, (int) OPEN.invokeExact(state, text, 0));
      try {
        check("setns " + path, state, (int) SETNS.invokeExact(state, fd, CLONE_NEWNET));
      } finally {
        closeDescriptor(fd);
      }
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Moves the calling thread into a network namespace of its own. */
  static void leaveNetworkNamespace() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      check("unshare", state, (int) UNSHARE.invokeExact(state, CLONE_NEWNET));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Makes the network namespace of the calling thread reachable at the path of a file. */
  static void mountNetworkNamespace(String path) {
    mount("/proc/thread-self/ns/net", path, "none", MS_BIND);
  }

  /** Mounts a file system of the type, which has no source and no options. */
  static void mount(String type, String path) {
    mount(type, path, type, 0);
  }

  private static void mount(String source, String target, String type, long flags) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      check(
          "mount " + target,
          state,
          (int)
              MOUNT.invokeExact(
                  state,
                  arena.allocateFrom(source),
                  arena.allocateFrom(target),
                  arena.allocateFrom(type),
                  flags,
                  MemorySegment.NULL));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Removes a mount, which lives on where it is in use. */
  static void unmount(String target) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment path = arena.allocateFrom(target);
      check("umount " + target, state, (int) UMOUNT2.invokeExact(state, path, MNT_DETACH));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  static int socket(int family, int type, int protocol) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      return check("socket", state, (int) SOCKET.invokeExact(state, family, type, protocol));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Binds a socket to an address. */
  static void bind(int fd, byte[] socketAddress) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment address = arena.allocateFrom(ValueLayout.JAVA_BYTE, socketAddress);
      check("bind", state, (int) BIND.invokeExact(state, fd, address, socketAddress.length));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /**
   * Sends to a socket address; returns false where the kernel refuses, for example because a
   * program drops the packet.
   */
  static boolean sendTo(int fd, byte[] bytes, byte[] socketAddress) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment content = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
      final MemorySegment address = arena.allocateFrom(ValueLayout.JAVA_BYTE, socketAddress);
      final long sent =
          (long)
              SENDTO.invokeExact(
                  state, fd, content, (long) bytes.length, 0, address, socketAddress.length);
      return sent == bytes.length;
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Waits for a message and returns it, or empty after the time-out. */
  static Optional<byte[]> receive(int fd, int timeoutMs) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment poll = arena.allocate(8);
      poll.set(INT, 0, fd);
      poll.set(ValueLayout.JAVA_SHORT, 4, (short) 1);
      if ((int) POLL.invokeExact(state, poll, 1L, timeoutMs) <= 0) {
        return Optional.empty();
      }
      final MemorySegment buffer = arena.allocate(65536);
      final long length = (long) RECV.invokeExact(state, fd, buffer, 65536L, 0);
      return length < 0
          ? Optional.empty()
          : Optional.of(buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  static void closeDescriptor(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      check("close", state, (int) CLOSE.invokeExact(state, fd));
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Returns the reason why kernel tests cannot run, or empty if they can. */
  static Optional<String> whyNoKernelTests() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      if ((int) GETEUID.invokeExact(state) != 0) {
        return Optional.of("not root");
      }
      final MemorySegment attributes = arena.allocate(64, 8);
      attributes.set(INT, 0, 2); // BPF_MAP_TYPE_ARRAY
      attributes.set(INT, 4, 4);
      attributes.set(INT, 8, 4);
      attributes.set(INT, 12, 1);
      final long number = System.getProperty("os.arch").equals("aarch64") ? 280L : 321L;
      final long fd = (long) SYSCALL.invokeExact(state, number, 0L, attributes, 64L);
      if (fd < 0) {
        return Optional.of("bpf(BPF_MAP_CREATE) failed with errno " + (int) ERRNO.get(state, 0L));
      }
      closeDescriptor((int) fd);
      return Optional.empty();
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Calls membarrier(2) with {@code MEMBARRIER_CMD_GLOBAL}. */
  static void awaitGracePeriod() {
    final long number = System.getProperty("os.arch").equals("aarch64") ? 283L : 324L;
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final long result = (long) SYSCALL.invokeExact(state, number, 1L, MemorySegment.NULL, 0L);
      check("membarrier", state, (int) result);
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  /** Returns the CPUs on which the calling thread may run, a bit for each. */
  static byte[] cpusOfThisThread() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment cpus = arena.allocate(CPU_SET_BYTES, Long.BYTES);
      final int result = (int) SCHED_GETAFFINITY.invokeExact(state, 0, (long) CPU_SET_BYTES, cpus);
      check("sched_getaffinity", state, result);
      return cpus.toArray(ValueLayout.JAVA_BYTE);
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  static void setCpusOfThisThread(byte[] cpus) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(CAPTURED);
      final MemorySegment set = arena.allocate(CPU_SET_BYTES, Long.BYTES);
      MemorySegment.copy(cpus, 0, set, ValueLayout.JAVA_BYTE, 0, cpus.length);
      final int result = (int) SCHED_SETAFFINITY.invokeExact(state, 0, (long) CPU_SET_BYTES, set);
      check("sched_setaffinity", state, result);
    } catch (Throwable failure) {
      throw sneaky(failure);
    }
  }

  private static int check(String what, MemorySegment state, int result) {
    if (result < 0) {
      throw new IllegalStateException(what + ": errno " + (int) ERRNO.get(state, 0L));
    }
    return result;
  }

  private static RuntimeException sneaky(Throwable failure) {
    return failure instanceof RuntimeException unchecked
        ? unchecked
        : new IllegalStateException(failure);
  }
}
