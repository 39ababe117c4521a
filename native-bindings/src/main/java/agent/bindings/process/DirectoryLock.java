package agent.bindings.process;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

/**
 * An exclusive lock on a directory (flock(2)). It belongs to the directory itself: paths and mounts
 * that lead to the same directory share it, also on file systems whose files cannot be locked, such
 * as bpffs. The kernel releases it when the process ends.
 */
public final class DirectoryLock implements AutoCloseable {
  // asm-generic/fcntl.h
  private static final int O_RDONLY = 0;
  private static final int O_CLOEXEC = 0x80000;

  /** O_DIRECTORY and O_NOFOLLOW have numbers of their own on arm64 (asm/fcntl.h). */
  private static final boolean IS_ARM = System.getProperty("os.arch").equals("aarch64");

  private static final int O_DIRECTORY = IS_ARM ? 0x4000 : 0x10000;
  private static final int O_NOFOLLOW = IS_ARM ? 0x8000 : 0x20000;

  private static final int LOCK_EX = 2;
  private static final int LOCK_NB = 4;

  private final int fd;

  private DirectoryLock(int fd) {
    this.fd = fd;
  }

  /**
   * Acquires the lock, without waiting.
   *
   * @param directory an existing directory, not a symbolic link
   * @return the lock; empty where another process holds it
   * @throws BindingsException if the directory cannot be opened or locked
   */
  public static Optional<DirectoryLock> tryTake(Path directory) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final int fd =
          BindingsException.check(
              LibC.open(
                  state,
                  arena.allocateFrom(directory.toString()),
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
              directory + ": open");
      final int result = LibC.flock(state, fd, LOCK_EX | LOCK_NB);
      if (result == 0) {
        return Optional.of(new DirectoryLock(fd));
      }
      Descriptors.close(fd);
      if (result != -Errno.EAGAIN) {
        throw new BindingsException(directory + ": lock", result);
      }
      return Optional.empty();
    }
  }

  /** Releases the lock. */
  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
