package agent.testkit;

import java.util.BitSet;

/**
 * Keeps a thread on one CPU, where programs have maps with values of each CPU: a test run of a
 * program takes place on the CPU of its thread.
 */
public final class OneCpu implements AutoCloseable {
  private final byte[] before;

  private OneCpu(byte[] before) {
    this.before = before;
  }

  /** Keeps the calling thread, which has to close this, on the first of its CPUs. */
  public static OneCpu ofThisThread() {
    final byte[] before = SystemCalls.cpusOfThisThread();
    final BitSet first = new BitSet();
    first.set(BitSet.valueOf(before).nextSetBit(0));
    SystemCalls.setCpusOfThisThread(first.toByteArray());
    return new OneCpu(before);
  }

  /** Restores the CPUs of the thread. */
  @Override
  public void close() {
    SystemCalls.setCpusOfThisThread(before);
  }
}
