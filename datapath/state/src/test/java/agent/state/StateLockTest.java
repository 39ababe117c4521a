package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateLockTest {
  @TempDir private Path root;

  @Test
  void shouldCreateTheDirectoryAndNameTheHolder() throws Exception {
    final Path directory = root.resolve("a/b");
    try (StateLock _ = StateLock.take(directory)) {
      assertEquals(
          ProcessHandle.current().pid() + "\n", Files.readString(directory.resolve("agent.lock")));
    }
  }

  @Test
  void shouldRefuseWhileAnotherProcessHoldsTheDirectoryAndNotAfterItsDeath() throws Exception {
    final Process holder = ChildJvm.start(Holder.class, root.toString());
    try {
      assertEquals('.', holder.getInputStream().read());
      final IllegalStateException refusal =
          assertThrows(IllegalStateException.class, () -> StateLock.take(root));
      assertEquals(
          "state directory " + root + " is in use by another agent, process " + holder.pid(),
          refusal.getMessage());
    } finally {
      holder.destroyForcibly().waitFor();
    }
    try (StateLock _ = StateLock.take(root)) {
      assertTrue(Files.exists(root.resolve("agent.lock")));
    }
  }

  @Test
  void shouldRefuseASecondHolderInTheSameProcess() {
    try (StateLock _ = StateLock.take(root)) {
      assertThrows(IllegalStateException.class, () -> StateLock.take(root));
    }
  }

  static final class Holder {
    private Holder() {}

    public static void main(String[] arguments) throws Exception {
      StateLock.take(Path.of(arguments[0]));
      System.out.print('.');
      System.out.flush();
      Thread.sleep(60_000);
    }
  }
}
