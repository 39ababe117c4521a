package agent.domain.node;

import agent.types.IoFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** The locks of files that processes hold, as the kernel lists them (proc_locks(5)). */
final class LockTable {
  private static final Logger LOGGER = LogManager.getLogger(LockTable.class);
  private static final Path LOCKS = Path.of("/proc/locks");

  private LockTable() {}

  /** Finds the process that holds the lock of a directory; empty where it cannot be seen. */
  static OptionalLong holder(Path directory) {
    try {
      final long device = (Long) Files.getAttribute(directory, "unix:dev");
      final long inode = (Long) Files.getAttribute(directory, "unix:ino");
      return holder(Files.readAllLines(LOCKS), device, inode);
    } catch (IOException e) {
      LOGGER.debug("{}: {}", LOCKS, IoFailure.reason(e));
      return OptionalLong.empty();
    }
  }

  /**
   * Finds the holder in lines such as {@code 1: FLOCK ADVISORY WRITE 123 00:1f:15 0 EOF}.
   *
   * @param device number of the device as stat(2) returns it
   */
  static OptionalLong holder(List<String> locks, long device, long inode) {
    final long major = (device >> 8) & 0xfff | (device >> 32) & 0xfffff000L;
    final long minor = device & 0xff | (device >> 12) & 0xffffff00L;
    final String file = "%02x:%02x:%d".formatted(major, minor, inode);
    for (final String line : locks) {
      final String[] fields = line.strip().split(" +");
      if (fields.length > 5 && fields[1].equals("FLOCK") && fields[5].equals(file)) {
        return OptionalLong.of(Long.parseLong(fields[4]));
      }
    }
    return OptionalLong.empty();
  }
}
