package agent.maps.mirror;

import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.IdleStrategy;

/** Parks the mirror's thread until a reader wakes it or the time is over. */
final class MirrorIdleStrategy implements IdleStrategy {
  private static final long PARK_NS = 50_000_000;

  private volatile Thread parked;
  private volatile boolean awake;

  @Override
  public void idle(int workCount) {
    if (workCount == 0) {
      idle();
    }
  }

  @Override
  public void idle() {
    parked = Thread.currentThread();
    if (!awake) {
      LockSupport.parkNanos(this, PARK_NS);
    }
    awake = false;
  }

  @Override
  public void reset() {
    awake = false;
  }

  void wakeUp() {
    awake = true;
    LockSupport.unpark(parked);
  }
}
