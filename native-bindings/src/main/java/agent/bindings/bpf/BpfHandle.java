package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.libbpf.Libbpf;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A handle of a program or link: one descriptor, which is closed once, and at most one pin. For one
 * thread at a time.
 */
abstract sealed class BpfHandle implements AutoCloseable permits BpfProgram, BpfLink {
  private static final int CLOSED = -1;
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

  private final String subject;
  private int fd;
  private Path pinOrNull;

  /**
   * Creates a handle that owns a descriptor.
   *
   * @param subject name for messages, such as "program from_endpoint"
   * @param pinOrNull path from which the object was opened, or null
   */
  BpfHandle(String subject, int fd, Path pinOrNull) {
    this.subject = subject;
    this.fd = fd;
    this.pinOrNull = pinOrNull;
  }

  /**
   * Returns the descriptor, which belongs to this handle and is valid until the handle is closed.
   *
   * @throws IllegalStateException after {@link #close()}
   */
  public final int fd() {
    if (fd == CLOSED) {
      throw new IllegalStateException(subject + " is closed");
    }
    return fd;
  }

  /**
   * Pins the object so that it outlives the process.
   *
   * @param path on a BPF file system, in an existing folder
   * @throws BindingsException EEXIST if the path exists, or another error of the kernel
   * @throws IllegalStateException if this handle already has a pin
   */
  public final void pin(Path path) {
    if (pinOrNull != null) {
      throw new IllegalStateException(subject + " is already pinned at " + pinOrNull);
    }
    check(BpfFileSystem.pin(fd(), path), "pin at " + path);
    pinOrNull = path;
  }

  /**
   * Removes the pin from which this handle was opened or which it created; does nothing if there is
   * none or if it no longer exists. The object remains while it is attached by other means or a
   * descriptor of it is open.
   *
   * @throws BindingsException if the file system refuses
   */
  public final void unpin() {
    if (pinOrNull == null) {
      return;
    }
    final int result = BpfFileSystem.unpin(pinOrNull);
    if (result != -Errno.ENOENT) {
      check(result, "unpin from " + pinOrNull);
    }
    pinOrNull = null;
  }

  /** Closes the descriptor; pins and attachments remain. A second call has no effect. */
  @Override
  public void close() {
    if (fd != CLOSED) {
      Descriptors.close(fd);
      invalidate();
    }
  }

  /** Marks this handle as closed, without closing the descriptor. */
  final void invalidate() {
    fd = CLOSED;
  }

  @Override
  public final String toString() {
    return subject;
  }

  final int check(int result, String operation) {
    return BindingsException.check(result, subject + ": " + operation);
  }

  /**
   * Opens a pinned object of one kind.
   *
   * @param kind name of the kind, for messages
   * @param types the kernel's names of the anonymous inode for this kind
   * @return a descriptor, or -ENOENT if the path does not exist
   * @throws BindingsException if the object is of another kind or cannot be opened
   */
  static int openPinned(Path path, String kind, List<String> types) {
    final int fd = BpfFileSystem.open(path);
    if (fd == -Errno.ENOENT) {
      return fd;
    }
    BindingsException.check(fd, kind + " " + path + ": open");
    final String found = typeOf(fd);
    if (!types.contains(found)) {
      Descriptors.close(fd);
      throw new BindingsException(path + " is not a " + kind + " but a " + found);
    }
    return fd;
  }

  /**
   * Returns the name of the anonymous inode, which identifies the kind; the info call of bpf(2)
   * accepts descriptors of any kind.
   */
  private static String typeOf(int fd) {
    try {
      final String target =
          Files.readSymbolicLink(DESCRIPTORS.resolve(Integer.toString(fd))).toString();
      return target.substring(target.indexOf(':') + 1);
    } catch (IOException failure) {
      Descriptors.close(fd);
      throw new BindingsException("type of descriptor " + fd + ": " + failure);
    }
  }

  /**
   * Fills a bpf_..._info structure from the kernel.
   *
   * @throws BindingsException if the descriptor does not refer to a BPF object
   */
  static void describe(Arena arena, int fd, MemorySegment found, String subject) {
    BindingsException.check(
        Libbpf.bpf_obj_get_info_by_fd(
            fd, found, arena.allocateFrom(JAVA_INT, (int) found.byteSize())),
        subject + ": describe");
  }
}
