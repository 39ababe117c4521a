package agent.bindings.process;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * The end of a pipe that is written to, opened once more so that writing never waits, whatever
 * others do who have it open. Not thread-safe.
 */
public final class PipeWriter implements AutoCloseable {
  /** PIPE_BUF of linux/limits.h: so many bytes are written whole or not at all (pipe(7)). */
  public static final int LONGEST = 4_096;

  private static final int O_WRONLY = 1;
  private static final int O_NONBLOCK = 0x800;
  private static final int O_CLOEXEC = 0x80000;

  private final int fd;

  private PipeWriter(int fd) {
    this.fd = fd;
  }

  /**
   * Opens the pipe of a descriptor.
   *
   * @param descriptor as proc(5) has it, such as {@code /proc/self/fd/1}
   * @throws BindingsException where it cannot be opened
   */
  public static PipeWriter open(Path descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      return new PipeWriter(
          BindingsException.check(
              LibC.open(
                  arena.allocate(LibC.CALL_STATE),
                  arena.allocateFrom(descriptor.toString()),
                  O_WRONLY | O_NONBLOCK | O_CLOEXEC),
              "open " + descriptor));
    }
  }

  /**
   * Writes a message.
   *
   * @param message at most {@link #LONGEST} bytes
   * @return whether it was written; if not, there is no room for it, and nothing was
   * @throws BindingsException where no process reads
   */
  public boolean write(byte[] message) {
    if (message.length > LONGEST) {
      throw new IllegalArgumentException("a message of " + message.length + " bytes");
    }
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment bytes = arena.allocateFrom(ValueLayout.JAVA_BYTE, message);
      final int result = LibC.write(state, fd, bytes);
      if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
        return false;
      }
      BindingsException.check(result, "write to a pipe");
      return true;
    }
  }

  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
