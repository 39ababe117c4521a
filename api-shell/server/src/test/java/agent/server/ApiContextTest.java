package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.server.monitor.AgentEvents;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Defaults, limits and the end of the configuration of the API. */
class ApiContextTest {
  private static final Path PATH = Path.of("/run/api.sock");

  private static ApiContext context() {
    return new ApiContext().socketPath(PATH);
  }

  private static void assertRefused(String message, ApiContext context) {
    assertEquals(
        message, assertThrows(IllegalArgumentException.class, context::conclude).getMessage());
  }

  @Test
  void shouldHaveTheDefaultsOfTheContract() {
    final ApiContext context = context().conclude();
    assertEquals(PATH, context.socketPath());
    assertNull(context.socketGroup());
    assertEquals(16_777_216, context.maxBodyBytes());
    assertEquals(2, context.ioThreads());
    assertEquals(60_000, context.stallLimitMs());
    assertEquals(16_384, context.maxConnections());
    assertSame(RateLimits.NONE, context.rateLimits());
    assertSame(BodyLimits.DEFAULT, context.bodyLimits());
    assertFalse(context.profiling());
  }

  @Test
  void shouldKeepWhatIsSet() {
    final RateLimits limits = RateLimits.parse(java.util.Map.of("read", "1"), () -> 0L);
    final AgentEvents events = new AgentEvents();
    final BodyLimits bodyLimits = new BodyLimits(1, 1, 1, 1, 1, 1);
    final ApiContext context =
        context()
            .socketGroup("g")
            .maxBodyBytes(1)
            .ioThreads(1)
            .stallLimitMs(1)
            .maxConnections(1)
            .rateLimits(limits)
            .bodyLimits(bodyLimits)
            .profiling(true)
            .events(events)
            .conclude();
    assertEquals("g", context.socketGroup());
    assertEquals(1, context.maxBodyBytes());
    assertEquals(1, context.ioThreads());
    assertEquals(1, context.stallLimitMs());
    assertEquals(1, context.maxConnections());
    assertSame(limits, context.rateLimits());
    assertSame(bodyLimits, context.bodyLimits());
    assertTrue(context.profiling());
    assertSame(events, context.events());
  }

  @Test
  void shouldNameWhatIsNotValid() {
    assertRefused("socket-path: is missing", new ApiContext());
    for (final long value : new long[] {0, -1}) {
      final String end = ": " + value + " is not above 0";
      assertRefused("api-max-body" + end, context().maxBodyBytes(value));
      assertRefused("I/O threads" + end, context().ioThreads((int) value));
      assertRefused("stall limit" + end, context().stallLimitMs(value));
      assertRefused("connections" + end, context().maxConnections((int) value));
    }
  }

  /** The kernel takes 107 bytes, and the socket is bound in a hidden directory beside its path. */
  @Test
  void shouldRefuseAPathThatIsTooLongForTheKernel() {
    final String longest = "/" + "é".repeat(44) + "x";
    new ApiContext().socketPath(Path.of(longest)).conclude();
    assertRefused(
        "socket-path: longer than 90 bytes: " + longest + "y",
        new ApiContext().socketPath(Path.of(longest + "y")));
  }

  @Test
  void shouldNotChangeOnceItIsConcluded() {
    final ApiContext context = context().conclude();
    final List<Consumer<ApiContext>> changes =
        List.of(
            c -> c.socketPath(PATH),
            c -> c.socketGroup("g"),
            c -> c.maxBodyBytes(1),
            c -> c.ioThreads(1),
            c -> c.stallLimitMs(1),
            c -> c.maxConnections(1),
            c -> c.rateLimits(RateLimits.NONE),
            c -> c.bodyLimits(BodyLimits.DEFAULT),
            c -> c.profiling(true),
            c -> c.events(new AgentEvents()));
    for (final Consumer<ApiContext> change : changes) {
      assertEquals(
          "the context is concluded",
          assertThrows(IllegalStateException.class, () -> change.accept(context)).getMessage());
    }
  }
}
