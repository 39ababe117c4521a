package agent.reconcile;

/**
 * Words of an array of the kernel in mapped memory: an access is no system call, and is not
 * refused.
 */
public interface WordArray {
  /** Returns the number of words. */
  int count();

  /** Returns a word as it is now. */
  long word(int index);

  /** Replaces a word with one store. */
  void word(int index, long bits);
}
