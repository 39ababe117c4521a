package agent.l7proxy;

import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A time limit of a connection, which is started and stopped many times, on its event loop. */
final class TimeLimit {
  private final Channel channel;
  private final Duration limit;
  private Future<?> timer;
  private Runnable expired;

  /**
   * Creates a limit that does not run.
   *
   * @param limit zero: it never expires
   */
  TimeLimit(Channel channel, Duration limit) {
    this.channel = channel;
    this.limit = limit;
  }

  /** Starts the limit; one that runs keeps its end. */
  void start(Runnable action) {
    expired = action;
    if (timer == null && limit.isPositive() && channel.isActive()) {
      timer =
          channel
              .eventLoop()
              .schedule(this::expire, TimeUnit.NANOSECONDS.convert(limit), TimeUnit.NANOSECONDS);
    }
  }

  private void expire() {
    timer = null;
    expired.run();
  }

  boolean isRunning() {
    return timer != null;
  }

  void stop() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }
}
