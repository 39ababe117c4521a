package agent.server;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.LongSupplier;

/** Rate limits: one token bucket for each operation class, with a burst of one second. */
public final class RateLimits {
  /** No limits. */
  public static final RateLimits NONE = new RateLimits(Map.of(), System::nanoTime);

  private static final double NS_PER_SECOND = 1e9;

  private final Map<OperationClass, Bucket> buckets = new EnumMap<>(OperationClass.class);
  private final LongSupplier clockNs;

  private RateLimits(Map<OperationClass, Double> ratesPerSecond, LongSupplier clockNs) {
    this.clockNs = clockNs;
    ratesPerSecond.forEach(
        (operationClass, rate) ->
            buckets.put(operationClass, new Bucket(rate, clockNs.getAsLong())));
  }

  /**
   * Reads the values of {@code --api-rate-limit}.
   *
   * @param option operation class to rate: {@code 10}, {@code 10/s} or {@code 90/m}
   * @param clockNs the time
   * @throws IllegalArgumentException naming the class or the rate that is not valid
   */
  public static RateLimits parse(Map<String, String> option, LongSupplier clockNs) {
    final Map<OperationClass, Double> rates = new EnumMap<>(OperationClass.class);
    option.forEach((name, rate) -> rates.put(operationClass(name), ratePerSecond(name, rate)));
    return new RateLimits(rates, clockNs);
  }

  private static OperationClass operationClass(String name) {
    return Arrays.stream(OperationClass.values())
        .filter(candidate -> candidate.text().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "'"
                        + name
                        + "' is not one of the operation classes "
                        + Arrays.stream(OperationClass.values())
                            .map(OperationClass::text)
                            .toList()));
  }

  private static double ratePerSecond(String name, String text) {
    final String number = text.replaceFirst("/[sm]$", "");
    if (!number.matches("[0-9]{1,9}") || Long.parseLong(number) == 0) {
      throw new IllegalArgumentException(
          name + ": '" + text + "' is not a rate such as 10/s or 90/m");
    }
    return Long.parseLong(number) / (text.endsWith("/m") ? 60.0 : 1.0);
  }

  /**
   * Consumes a token.
   *
   * @return 0, or the seconds after which the next call may come
   */
  int secondsUntilAllowed(OperationClass operationClass) {
    final Bucket bucket = buckets.get(operationClass);
    return bucket == null ? 0 : bucket.take(clockNs.getAsLong());
  }

  private static final class Bucket {
    private final double ratePerSecond;
    private final double burst;
    private double tokens;
    private long lastNs;

    Bucket(double ratePerSecond, long nowNs) {
      this.ratePerSecond = ratePerSecond;
      this.burst = Math.max(1.0, ratePerSecond);
      this.tokens = burst;
      this.lastNs = nowNs;
    }

    synchronized int take(long nowNs) {
      tokens = Math.min(burst, tokens + (nowNs - lastNs) / NS_PER_SECOND * ratePerSecond);
      lastNs = nowNs;
      if (tokens >= 1.0) {
        tokens -= 1.0;
        return 0;
      }
      return (int) Math.ceil((1.0 - tokens) / ratePerSecond);
    }
  }
}
