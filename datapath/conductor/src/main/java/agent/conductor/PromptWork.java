package agent.conductor;

import agent.bindings.ThreadScheduling;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Work that others wait for, in short pieces. Its thread is preferred to those that work on at
 * length, such as the compilers of the JVM: without that it waits for a slice of theirs each time
 * that it is woken.
 */
public final class PromptWork {
  private static final Logger LOGGER = LogManager.getLogger(PromptWork.class);

  /** How much a thread weighs that packets of workloads wait for. */
  private static final int LOOKUPS = -10;

  /**
   * How much a thread weighs that changes what is enforced: little enough for callers to have
   * answers while it works for some time.
   */
  private static final int CHANGES = -4;

  private PromptWork() {}

  /** Returns what a thread does that packets of workloads wait for. */
  public static Runnable of(Runnable work) {
    return () -> {
      prefer();
      work.run();
    };
  }

  /** Raises the priority of the calling thread, for which packets of workloads wait. */
  public static void prefer() {
    prefer(LOOKUPS);
  }

  /**
   * Raises the priority of threads of another process, for which packets of workloads wait and
   * which may not raise it themselves.
   *
   * @param threads the threads of the process: its folder {@code task} of proc(5)
   * @param name the name of the threads
   * @throws IOException where they cannot be read
   */
  public static void prefer(Path threads, String name) throws IOException {
    try (DirectoryStream<Path> all = Files.newDirectoryStream(threads)) {
      for (final Path thread : all) {
        if (nameOf(thread).equals(name)) {
          final int number = Integer.parseInt(thread.getFileName().toString());
          logUnpreferred(name, ThreadScheduling.prefer(number, LOOKUPS));
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
  public static void preferChanges() {
    prefer(CHANGES);
  }

  private static void prefer(int nice) {
    logUnpreferred(Thread.currentThread().getName(), ThreadScheduling.preferCallingThread(nice));
  }

  private static void logUnpreferred(String name, int result) {
    if (result < 0) {
      LOGGER.debug("{} is not preferred: errno {}", name, -result);
    }
  }
}
