package agent.datapath.manager.thread;

import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.IdleStrategy;

/** Spins, yields, and then parks until it is woken or a timeout has passed. */
public final class ParkingIdleStrategy implements IdleStrategy {
  private static final int SPINS = 20;
  private static final int YIELDS = 20;
  private static final long PARK_NS = 100_000_000;

  private volatile Thread thread;
  private volatile boolean isStopped;
  private int turns;

  /** Ends the current or the next park; for any thread. */
  public void wake() {
    LockSupport.unpark(thread);
  }

  /** Stops parking, so that the agent can be closed without delay; for any thread. */
  public void stop() {
    isStopped = true;
    wake();
  }

  @Override
  public void idle(int workCount) {
    if (workCount > 0) {
      turns = 0;
    } else {
      idle();
    }
  }

  @Override
  public void idle() {
    if (turns < SPINS) {
      Thread.onSpinWait();
      turns++;
    } else if (turns < SPINS + YIELDS) {
      Thread.yield();
      turns++;
    } else if (thread == null) {
      thread = Thread.currentThread();
    } else if (!isStopped) {
      LockSupport.parkNanos(PARK_NS);
    }
  }

  @Override
  public void reset() {
    turns = 0;
  }

  @Override
  public String alias() {
    return "park";
  }
}
