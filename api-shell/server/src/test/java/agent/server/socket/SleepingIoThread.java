package agent.server.socket;

import java.util.Arrays;

/** An I/O thread that waits for what is ready. */
public final class SleepingIoThread {
  private SleepingIoThread() {}

  /** Returns when the thread has nothing to do; the test has a time limit. */
  public static void await(Thread ioThread) throws InterruptedException {
    while (!isAsleep(ioThread)) {
      Thread.sleep(1);
    }
  }

  private static boolean isAsleep(Thread ioThread) {
    return Arrays.stream(ioThread.getStackTrace())
        .anyMatch(frame -> frame.toString().contains("EPoll.wait"));
  }
}
