package agent.domain.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.process.DirectoryLock;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who holds the lock of a directory, as proc_locks(5) says it. */
class LockTableTest {
  /** Major 0x1f, minor 0x15, as stat(2) packs them. */
  private static final long DEVICE = 0x1f15;

  private static final long INODE = 42;

  private static OptionalLong holder(String... lines) {
    return LockTable.holder(List.of(lines), DEVICE, INODE);
  }

  @Test
  void shouldFindTheHolderInTheListOfTheKernel(@TempDir Path directory) {
    assertEquals(OptionalLong.empty(), LockTable.holder(directory));
    try (DirectoryLock _ = DirectoryLock.tryTake(directory).orElseThrow()) {
      assertEquals(OptionalLong.of(ProcessHandle.current().pid()), LockTable.holder(directory));
    }
    assertEquals(OptionalLong.empty(), LockTable.holder(directory));
    assertEquals(OptionalLong.empty(), LockTable.holder(directory.resolve("none")));
  }

  @Test
  void shouldFindTheProcessThatLocksTheDirectory() {
    assertEquals(
        OptionalLong.of(124),
        holder(
            "1: POSIX  ADVISORY  WRITE 121 1f:15:42 0 EOF",
            "2: FLOCK  ADVISORY  WRITE 122 1f:16:42 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 123 1f:15:43 0 EOF",
            "   4:   FLOCK  ADVISORY  WRITE 124 1f:15:42 0 EOF",
            "5: FLOCK  ADVISORY  WRITE 125 1f:15:42 0 EOF"));
  }

  @Test
  void shouldFindNoHolderWhereNoLineHasTheDirectory() {
    assertEquals(OptionalLong.empty(), holder());
    assertEquals(OptionalLong.empty(), holder("", "1: FLOCK  ADVISORY  WRITE 7"));
    assertEquals(OptionalLong.empty(), holder("1: LEASE  ACTIVE  READ 7 1f:15:42 0 EOF"));
    assertEquals(
        OptionalLong.empty(), holder("1: -> FLOCK  ADVISORY  WRITE 7 1f:15:42 0 EOF"), "waits");
  }

  /** A line without the range is enough: the file is its sixth word. */
  @Test
  void shouldReadALineThatEndsWithTheFile() {
    assertEquals(OptionalLong.of(7), holder("1: FLOCK ADVISORY WRITE 7 1f:15:42"));
  }

  /** Twelve bits of the major number and twenty of the minor one lie in 32 bits, apart. */
  @Test
  void shouldUnpackLargeDeviceNumbers() {
    final String line = "1: FLOCK ADVISORY WRITE 7 %s:42 0 EOF";
    assertEquals(
        OptionalLong.of(7), LockTable.holder(List.of(line.formatted("fff:00")), 0xfff00, INODE));
    assertEquals(
        OptionalLong.of(7),
        LockTable.holder(List.of(line.formatted("00:abc15")), 0xabc00015L, INODE));
    assertEquals(
        OptionalLong.of(7),
        LockTable.holder(List.of(line.formatted("1234501f:15")), 0x12345000_00001f15L, INODE));
  }
}
