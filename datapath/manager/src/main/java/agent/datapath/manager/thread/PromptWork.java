package agent.datapath.manager.thread;

import agent.bindings.ThreadScheduling;
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
  public static final int LOOKUPS = -10;

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

  /** Has the calling thread be preferred, for which packets of workloads wait. */
  public static void prefer() {
    prefer(LOOKUPS);
  }

  /** Has the calling thread be preferred, which changes what is enforced. */
  public static void preferChanges() {
    prefer(CHANGES);
  }

  private static void prefer(int nice) {
    final int result = ThreadScheduling.preferCallingThread(nice);
    if (result < 0) {
      LOGGER.debug("{} is not preferred: errno {}", Thread.currentThread().getName(), -result);
    }
  }
}
