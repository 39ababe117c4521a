package agent.datapath.manager.attach;

/** One way to hang programs on tc hooks. What other programs hang there is left alone. */
public interface TcAttachment {
  /**
   * Hangs the program on the hook, in place of ours that is there; no packet meets neither.
   *
   * @return what was there before, to put it back
   * @throws AttachException where the kernel refuses; what was there before is still there
   */
  Previous attach(Hook hook, int programFd);

  /**
   * Takes our program from the hook, where it is there.
   *
   * @throws AttachException where the kernel refuses
   */
  void detach(Hook hook);

  /** Whether our program is on the hook. */
  boolean isAttached(Hook hook);

  /** What was on a hook before a program was attached. */
  interface Previous {
    /** Nothing was there: putting it back takes the new one away. */
    void putBack();

    /** The new program stays; what was held of the one before is let go. */
    void release();
  }
}
