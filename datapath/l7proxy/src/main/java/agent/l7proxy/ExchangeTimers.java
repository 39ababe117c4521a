package agent.l7proxy;

import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The time limits of one request. */
final class ExchangeTimers {
  private final EventLoop loop;
  private Future<?> deadline;
  private Future<?> idle;
  private Future<?> retry;
  private long trafficNs;

  ExchangeTimers(EventLoop loop) {
    this.loop = loop;
  }

  /**
   * Starts the limits of a request that policy has allowed.
   *
   * @param expired gets what has not come in time
   */
  void start(HttpProxyContext context, JudgedRequest request, Consumer<String> expired) {
    Duration limit = context.requestTimeout();
    if (request.isGrpc()) {
      final Duration grpc = grpcLimit(request.head().headers(), context.grpcTimeout());
      if (grpc.isPositive() && (limit.isZero() || grpc.compareTo(limit) < 0)) {
        limit = grpc;
      }
    } else if (context.idleTimeout().isPositive()) {
      trafficNs = loop.ticker().nanoTime();
      final long idleNs = nanos(context.idleTimeout());
      watch(idleNs, idleNs, () -> expired.accept("no traffic"));
    }
    if (limit.isPositive()) {
      final Runnable end = () -> expired.accept("no end of the response");
      deadline = loop.schedule(end, nanos(limit), TimeUnit.NANOSECONDS);
    }
  }

  private void watch(long delayNs, long limitNs, Runnable expired) {
    idle =
        loop.schedule(
            () -> {
              final long leftNs = limitNs - (loop.ticker().nanoTime() - trafficNs);
              if (leftNs > 0) {
                watch(leftNs, limitNs, expired);
              } else {
                expired.run();
              }
            },
            delayNs,
            TimeUnit.NANOSECONDS);
  }

  /** Starts the limit until a response begins; zero: none. */
  void retry(Duration limit, Runnable expired) {
    stopRetry();
    if (limit.isPositive()) {
      retry = loop.schedule(expired, nanos(limit), TimeUnit.NANOSECONDS);
    }
  }

  /** Starts the limit of what is left of a request that is answered. */
  void drain(Duration limit, Runnable expired) {
    deadline = loop.schedule(expired, nanos(limit), TimeUnit.NANOSECONDS);
  }

  /** A part of the request or of its response has come. */
  void traffic() {
    if (idle != null) {
      trafficNs = loop.ticker().nanoTime();
    }
  }

  void stopRetry() {
    retry = stopped(retry);
  }

  void stop() {
    stopRetry();
    deadline = stopped(deadline);
    idle = stopped(idle);
  }

  private static Future<?> stopped(Future<?> timer) {
    if (timer != null) {
      timer.cancel(false);
    }
    return null;
  }

  private static long nanos(Duration limit) {
    return TimeUnit.NANOSECONDS.convert(limit);
  }

  /**
   * Returns the limit of a gRPC request: the shorter one of the option and of {@code grpc-timeout}
   * (up to eight digits and a unit); zero: none.
   */
  private static Duration grpcLimit(HttpHeaders headers, Duration most) {
    final String text = headers.get("grpc-timeout");
    if (text == null || !text.matches("[0-9]{1,8}[HMSmun]")) {
      return most;
    }
    final long count = Long.parseLong(text.substring(0, text.length() - 1));
    final Duration asked =
        switch (text.charAt(text.length() - 1)) {
          case 'H' -> Duration.ofHours(count);
          case 'M' -> Duration.ofMinutes(count);
          case 'S' -> Duration.ofSeconds(count);
          case 'm' -> Duration.ofMillis(count);
          case 'u' -> Duration.ofNanos(count * 1_000);
          default -> Duration.ofNanos(count);
        };
    if (asked.isZero()) {
      return Duration.ofNanos(1);
    }
    return most.isZero() || asked.compareTo(most) < 0 ? asked : most;
  }
}
