package agent.datapath.manager.thread;

import agent.bindings.ThreadScheduling;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Work that workloads wait for, in short pieces. Its thread is preferred to those that work on at
 * length, such as the compilers of the JVM: without that it waits for a slice of theirs each time
 * that it is woken.
 */
public final class PromptWork {
  private static final Logger LOGGER = LogManager.getLogger(PromptWork.class);

  private PromptWork() {}

  /** Returns what a thread does that is preferred from its start. */
  public static Runnable of(Runnable work) {
    return () -> {
      prefer();
      work.run();
    };
  }

  /** Has the calling thread be preferred. */
  public static void prefer() {
    final int result = ThreadScheduling.preferCallingThread();
    if (result < 0) {
      LOGGER.debug("{} is not preferred: errno {}", Thread.currentThread().getName(), -result);
    }
  }
}
