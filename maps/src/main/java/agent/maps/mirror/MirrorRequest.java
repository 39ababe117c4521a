package agent.maps.mirror;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What another thread wants of the mirror's thread: a current copy, or that a copy be dropped. */
final class MirrorRequest {
  private final MirroredMap mirror;
  private final boolean drop;
  private final CountDownLatch done = new CountDownLatch(1);
  private volatile boolean current;

  // Of the mirror's thread.
  private long journalPosition = -1;

  private MirrorRequest(MirroredMap mirror, boolean drop) {
    this.mirror = mirror;
    this.drop = drop;
  }

  static MirrorRequest refresh(MirroredMap mirror) {
    return new MirrorRequest(mirror, false);
  }

  static MirrorRequest drop(MirroredMap mirror) {
    return new MirrorRequest(mirror, true);
  }

  MirroredMap mirror() {
    return mirror;
  }

  boolean drop() {
    return drop;
  }

  long journalPosition() {
    return journalPosition;
  }

  void journalPosition(long position) {
    journalPosition = position;
  }

  void complete(boolean isCurrent) {
    current = isCurrent;
    done.countDown();
  }

  /** Waits; true where the copy can be shown. */
  boolean await(long timeoutNs) {
    try {
      return done.await(timeoutNs, TimeUnit.NANOSECONDS) && current;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
