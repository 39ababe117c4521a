package agent.endpoint;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.agrona.concurrent.NanoClock;

/** A clock that advances only when a test calls it. */
final class ManualClock implements InstantSource, NanoClock {
  private static final Instant START = Instant.parse("2026-11-20T00:00:00Z");

  private long elapsedNs;

  @Override
  public Instant instant() {
    return START.plusNanos(elapsedNs);
  }

  @Override
  public long nanoTime() {
    return elapsedNs;
  }

  void advance(Duration time) {
    elapsedNs += time.toNanos();
  }
}
