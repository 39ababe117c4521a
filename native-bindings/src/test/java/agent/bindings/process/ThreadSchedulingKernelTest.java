package agent.bindings.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** As root: what a thread has of the scheduler, from {@code /proc/thread-self}. */
class ThreadSchedulingKernelTest {
  /** Index of the nice value behind the name of the command (proc_pid_stat(5), field 19). */
  private static final int NICE = 16;

  private static final Executor NEW_THREAD = work -> Thread.ofPlatform().daemon().start(work);

  @Test
  void shouldPreferTheCallingThreadAndNoThreadThatItStarts() throws Exception {
    final int before = nice();
    final CompletableFuture<Integer> preferred = new CompletableFuture<>();
    final CompletableFuture<Integer> started = new CompletableFuture<>();
    NEW_THREAD.execute(
        () -> {
          assertEquals(0, ThreadScheduling.prioritizeCallingThread(-7));
          preferred.complete(nice());
          CompletableFuture.supplyAsync(ThreadSchedulingKernelTest::nice, NEW_THREAD)
              .thenAccept(started::complete);
        });
    assertEquals(-7, preferred.get());
    assertEquals(0, started.get());
    assertEquals(before, nice(), "of the thread that did not ask");
  }

  private static int nice() {
    try {
      final String line = Files.readString(Path.of("/proc/thread-self/stat"));
      return Integer.parseInt(line.substring(line.lastIndexOf(')') + 2).split(" ")[NICE]);
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
