package agent.conductor;

import agent.bindings.process.ThreadScheduling;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Priorities of threads that packets or callers wait for, above those of threads that compute for
 * long, such as the compilers of the JVM: without that each wake-up waits for a time slice of
 * theirs.
 */
public final class ThreadPriority {
  private static final Logger LOGGER = LogManager.getLogger(ThreadPriority.class);

  /** The nice value of a thread that packets of workloads wait for. */
  private static final int LOOKUPS = -10;

  /**
   * The nice value of a thread that changes what is enforced: high enough for callers to be
   * answered during a long change.
   */
  private static final int CHANGES = -4;

  private ThreadPriority() {}

  /**
   * Returns work that first raises the priority of its thread, for which packets of workloads wait.
   */
  public static Runnable raising(Runnable work) {
    return () -> {
      raise();
      work.run();
    };
  }

  /** Raises the priority of the calling thread, for which packets of workloads wait. */
  public static void raise() {
    raise(LOOKUPS);
  }

  /**
   * Raises the priority of threads of another process, for which packets of workloads wait and
   * which may not raise it themselves.
   *
   * @param threads the threads of the process: its folder {@code task} of proc(5)
   * @param name the name of the threads
   * @throws IOException where they cannot be read
   */
  public static void raise(Path threads, String name) throws IOException {
    try (DirectoryStream<Path> all = Files.newDirectoryStream(threads)) {
      for (final Path thread : all) {
        if (nameOf(thread).equals(name)) {
          final int number = Integer.parseInt(thread.getFileName().toString());
          logFailure(name, ThreadScheduling.prioritize(number, LOOKUPS));
        }
      }
    }
  }

  /** Returns the name of a thread; nothing where it has ended since it was listed. */
  private static String nameOf(Path thread) throws IOException {
    try {
      return Files.readString(thread.resolve("comm")).strip();
    } catch (IOException e) {
      if (Files.exists(thread)) {
        throw e;
      }
      return "";
    }
  }

  /** Raises the priority of the calling thread, which changes what is enforced. */
  public static void raiseForChanges() {
    raise(CHANGES);
  }

  private static void raise(int nice) {
    logFailure(Thread.currentThread().getName(), ThreadScheduling.prioritizeCallingThread(nice));
  }

  private static void logFailure(String name, int result) {
    if (result < 0) {
      LOGGER.debug("thread {}: priority not raised: errno {}", name, -result);
    }
  }
}
