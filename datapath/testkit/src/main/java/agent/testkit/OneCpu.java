package agent.testkit;

import java.util.BitSet;

/**
 * Keeps a thread on one CPU: where programs have maps with values of each CPU, since a test run of
 * a program takes place on the CPU of its thread, and where two threads have to run at one time.
 */
public final class OneCpu implements AutoCloseable {
  private final byte[] before;

  private OneCpu(byte[] before) {
    this.before = before;
  }

  /** Keeps the calling thread, which has to close this, on the first of its CPUs. */
  public static OneCpu ofThisThread() {
    return ofThisThread(0);
  }

  /**
   * Keeps the calling thread, which has to close this, on one of its CPUs.
   *
   * @param number which of them, from 0 on; begins anew where there are fewer
   */
  public static OneCpu ofThisThread(int number) {
    final byte[] before = SystemCalls.cpusOfThisThread();
    final int[] all = BitSet.valueOf(before).stream().toArray();
    final BitSet one = new BitSet();
    one.set(all[number % all.length]);
    SystemCalls.setCpusOfThisThread(one.toByteArray());
    return new OneCpu(before);
  }

  /** Restores the CPUs of the thread. */
  @Override
  public void close() {
    SystemCalls.setCpusOfThisThread(before);
  }
}
