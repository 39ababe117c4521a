package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.server.socket.Peer;
import agent.testkit.OtherThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is counted where two threads serve the requests of one client. */
class ServerLocksTest {
  private static final int ROUNDS = 100;
  private static final int CALLS = 5_000;
  private static final Peer PEER = new Peer(7, 0, 0);

  private final AtomicInteger served = new AtomicInteger();

  private static void times(Runnable call) {
    for (int time = 0; time < CALLS; time++) {
      call.run();
    }
  }

  /** Otherwise a share would shrink, or grow, for as long as the agent runs. */
  @Test
  void shouldGiveBackTheWholeShare() throws Exception {
    final RequestShares shares = new RequestShares(8, 4);
    final Runnable request = () -> shares.enter(PEER).run();
    OtherThread.race(ROUNDS, () -> times(request), () -> times(request));
    final List<Runnable> left = new ArrayList<>();
    for (int number = 0; number < 4; number++) {
      left.add(shares.enter(PEER));
    }
    assertThrows(HttpRefusal.class, () -> shares.enter(PEER));
    left.forEach(Runnable::run);
    shares.enter(PEER);
  }

  @Test
  void shouldServeEachReadOfAPeer() throws Exception {
    final ReadWorkers workers = new ReadWorkers(Runnable::run);
    final Runnable read = () -> workers.execute(PEER, served::incrementAndGet);
    OtherThread.race(ROUNDS, () -> times(read), () -> times(read));
    times(read);
    assertEquals(CALLS * (2 * ROUNDS + 1), served.get());
  }

  @Test
  void shouldAllowAsManyCallsAsTheRate() throws Exception {
    final RateLimits limits = RateLimits.parse(Map.of("policy", "500000/s"), () -> 5);
    final Runnable call =
        () -> {
          if (limits.secondsUntilAllowed(OperationClass.POLICY) == 0) {
            served.incrementAndGet();
          }
        };
    OtherThread.race(ROUNDS, () -> times(call), () -> times(call));
    assertEquals(500_000, served.get());
  }

  /** A request ends for its answer, and for a client that has gone. */
  @Test
  void shouldGiveBackARequestOnceThoughItEndsTwice() throws Exception {
    final RequestShares shares = new RequestShares(CALLS + 1, CALLS + 1);
    final List<Runnable> ends = Stream.generate(() -> shares.enter(PEER)).limit(CALLS).toList();
    final Runnable last = shares.enter(PEER);
    OtherThread.collide(ends, Runnable::run, Runnable::run);
    for (int number = 0; number < CALLS; number++) {
      shares.enter(PEER);
    }
    assertThrows(HttpRefusal.class, () -> shares.enter(PEER));
    last.run();
    shares.enter(PEER);
  }
}
