package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What may be set, within which ranges, and until when. */
class HttpProxyContextTest {
  private static final Duration LESS = Duration.ofNanos(-1);

  private final ExchangeBench bench = new ExchangeBench();
  private final HttpProxyContext context = new HttpProxyContext().redirect(bench).policies(bench);

  @Test
  void shouldHaveTheDefaultsOfTheOptions() {
    context.conclude();
    assertEquals(Math.min(Runtime.getRuntime().availableProcessors(), 4), context.threads());
    assertEquals(49_152, context.descriptors());
    assertEquals(3, context.retries());
    assertEquals(Duration.ZERO, context.retryTimeout());
    assertEquals(Duration.ofSeconds(1), context.connectTimeout());
    assertEquals(Duration.ofHours(1), context.requestTimeout());
    assertEquals(Duration.ZERO, context.idleTimeout());
    assertEquals(Duration.ZERO, context.grpcTimeout());
    assertEquals(Duration.ofSeconds(30), context.headTimeout());
    assertEquals(EscapedSlashes.REJECT, context.escapedSlashes());
    assertNull(context.accessLog());
    assertEquals(List.of(), context.labels().apply(1));
    assertSame(bench, context.redirect());
    assertSame(bench, context.policies());
  }

  @Test
  void shouldReturnWhatWasSet() {
    final IntFunction<List<String>> labels = identity -> List.of("a");
    final RequestListener listener = request -> {};
    final InstantSource clock = InstantSource.system();
    final Path log = Path.of("log");
    final Duration longest = Duration.ofMillis(Integer.MAX_VALUE);
    final HttpProxyContext set =
        context
            .threads(1)
            .descriptors(2)
            .retries(0)
            .retryTimeout(Duration.ofSeconds(1))
            .connectTimeout(longest)
            .requestTimeout(Duration.ofSeconds(2))
            .idleTimeout(Duration.ofSeconds(3))
            .grpcTimeout(Duration.ofSeconds(4))
            .headTimeout(Duration.ofNanos(1))
            .escapedSlashes(EscapedSlashes.KEEP)
            .accessLog(log)
            .labels(labels)
            .listener(listener)
            .clock(clock);
    assertSame(context, set.conclude());
    assertEquals(1, context.threads());
    assertEquals(2, context.descriptors());
    assertEquals(0, context.retries());
    assertEquals(Duration.ofSeconds(1), context.retryTimeout());
    assertEquals(longest, context.connectTimeout());
    assertEquals(Duration.ofSeconds(2), context.requestTimeout());
    assertEquals(Duration.ofSeconds(3), context.idleTimeout());
    assertEquals(Duration.ofSeconds(4), context.grpcTimeout());
    assertEquals(Duration.ofNanos(1), context.headTimeout());
    assertEquals(EscapedSlashes.KEEP, context.escapedSlashes());
    assertSame(log, context.accessLog());
    assertSame(labels, context.labels());
    assertSame(listener, context.listener());
    assertSame(clock, context.clock());
  }

  static List<Consumer<HttpProxyContext>> outOfRange() {
    return List.of(
        context -> context.threads(0),
        context -> context.descriptors(1),
        context -> context.retries(-1),
        context -> context.retryTimeout(LESS),
        context -> context.connectTimeout(Duration.ZERO),
        context -> context.connectTimeout(Duration.ofMillis(Integer.MAX_VALUE + 1L)),
        context -> context.requestTimeout(LESS),
        context -> context.idleTimeout(LESS),
        context -> context.grpcTimeout(LESS),
        context -> context.headTimeout(Duration.ZERO));
  }

  @ParameterizedTest
  @MethodSource("outOfRange")
  void shouldRefuseWhatIsOutOfRange(Consumer<HttpProxyContext> option) {
    option.accept(context);
    assertThrows(IllegalArgumentException.class, context::conclude);
  }

  @Test
  void shouldNameTheNumbersThatItRefuses() {
    assertEquals(
        "HTTP proxy: 2 threads, 7 descriptors, -1 retries, timeouts: retry PT0S, connect PT1S,"
            + " request PT1H, idle PT0S, gRPC PT0S, head PT30S",
        assertThrows(
                IllegalArgumentException.class,
                () -> context.threads(2).descriptors(7).retries(-1).conclude())
            .getMessage());
  }

  @Test
  void shouldWantWhereFlowsAreFoundAndWhatJudges() {
    assertThrows(
        NullPointerException.class, () -> new HttpProxyContext().redirect(bench).conclude());
    assertThrows(
        NullPointerException.class, () -> new HttpProxyContext().policies(bench).conclude());
  }

  static List<Consumer<HttpProxyContext>> settings() {
    return List.of(
        context -> context.redirect(null),
        context -> context.policies(null),
        context -> context.threads(1),
        context -> context.descriptors(2),
        context -> context.retries(1),
        context -> context.retryTimeout(null),
        context -> context.connectTimeout(null),
        context -> context.requestTimeout(null),
        context -> context.idleTimeout(null),
        context -> context.grpcTimeout(null),
        context -> context.headTimeout(null),
        context -> context.escapedSlashes(null),
        context -> context.accessLog(null),
        context -> context.labels(null),
        context -> context.listener(null),
        context -> context.clock(null));
  }

  @ParameterizedTest
  @MethodSource("settings")
  void shouldSetNothingAfterIt(Consumer<HttpProxyContext> setting) {
    context.conclude();
    assertThrows(IllegalStateException.class, () -> setting.accept(context));
  }
}
