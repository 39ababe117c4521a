package agent.dns;

import agent.conductor.HealthBoard;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Reports the endpoints that had to give up addresses of names that connections may use, since they
 * held more than their share. The health says so until none has done for half a minute.
 * Thread-safe.
 */
public final class HeldShares implements HealthBoard.Probe {
  /** Its health module. */
  public static final String MODULE = "held-addresses";

  private static final long REMEMBERED_NS = TimeUnit.SECONDS.toNanos(30);

  private final LongSupplier nanoClock;
  private final TreeMap<Integer, Long> recent = new TreeMap<>();
  private long givenUp;
  private long lastNs;
  private int held;

  HeldShares(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** An endpoint has given up an address; 0: no endpoint of this node. */
  synchronized void onGivenUp(int endpointId) {
    forgetOld();
    givenUp++;
    lastNs = nanoClock.getAsLong();
    recent.merge(endpointId, 1L, Long::sum);
  }

  private void forgetOld() {
    if (!recent.isEmpty() && nanoClock.getAsLong() - lastNs >= REMEMBERED_NS) {
      recent.clear();
    }
  }

  /** So many addresses are held now. */
  synchronized void onHeld(int count) {
    held = count;
  }

  /** Returns how many addresses are held. */
  public synchronized int held() {
    return held;
  }

  /** Returns how many addresses were given up since the start. */
  public synchronized long givenUp() {
    return givenUp;
  }

  @Override
  public synchronized HealthBoard.Reading read() {
    forgetOld();
    if (recent.isEmpty()) {
      return HealthBoard.Reading.ok(
          "no endpoint has exhausted its share of expired addresses in use");
    }
    final StringBuilder text = new StringBuilder();
    recent.forEach(
        (id, count) -> {
          text.append(text.isEmpty() ? "" : ", ");
          text.append(id == 0 ? "no endpoint" : "endpoint " + id);
          text.append(" (").append(count).append(" dropped that connections may still use)");
        });
    return HealthBoard.Reading.degraded("share of expired addresses in use exhausted: " + text);
  }
}
