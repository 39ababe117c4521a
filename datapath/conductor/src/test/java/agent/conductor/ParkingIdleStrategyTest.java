package agent.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.LibC;
import agent.bindings.net.NetlinkSocket;
import java.lang.foreign.Arena;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * When it parks and what ends a park, of which the shortest or longest counts: the machine may be
 * busy.
 */
@Timeout(60)
class ParkingIdleStrategyTest {
  private static final long PARK_NS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int BEFORE_PARKS = 21;
  private static final int ROUNDS = 20;

  private final ParkingIdleStrategy idle = new ParkingIdleStrategy();

  private long idleNs(int times) {
    final long startNs = System.nanoTime();
    for (int i = 0; i < times; i++) {
      idle.idle(0);
    }
    return System.nanoTime() - startNs;
  }

  private long shortestNs(Runnable before, int times) {
    long shortestNs = Long.MAX_VALUE;
    for (int i = 0; i < ROUNDS; i++) {
      before.run();
      shortestNs = Math.min(shortestNs, idleNs(times));
    }
    return shortestNs;
  }

  /** The longest of some: a park may end at once, for a reason of another (LockSupport). */
  private long longestParkNs() {
    long longestNs = 0;
    for (int i = 0; i < ROUNDS && longestNs < PARK_NS * 9 / 10; i++) {
      longestNs = Math.max(longestNs, idleNs(1));
    }
    return longestNs;
  }

  /** The machine may be slow: one of some parks is not much longer than it should be. */
  private void assertParksBriefly() {
    long parkedNs = Long.MAX_VALUE;
    for (int i = 0; i < ROUNDS && parkedNs > 2 * PARK_NS; i++) {
      parkedNs = idleNs(1);
    }
    assertTrue(parkedNs <= 2 * PARK_NS, parkedNs + " ns");
  }

  @Test
  void shouldParkWithoutWorkAndSpinFirstAfterSome() {
    assertEquals("park", idle.alias());
    idleNs(BEFORE_PARKS);
    assertTrue(longestParkNs() >= PARK_NS * 9 / 10);
    assertParksBriefly();
    assertTrue(shortestNs(() -> idle.idle(1), BEFORE_PARKS - 1) < PARK_NS / 2);
    assertTrue(longestParkNs() >= PARK_NS * 9 / 10);
    assertTrue(shortestNs(idle::reset, BEFORE_PARKS - 1) < PARK_NS / 2);
  }

  @Test
  void shouldParkForAShorterTime() {
    idleNs(BEFORE_PARKS);
    idle.parkAtMost(PARK_NS / 10);
    assertTrue(shortestNs(() -> {}, 1) < PARK_NS / 2);
    assertTrue(shortestNs(() -> {}, 5) >= PARK_NS / 4, "it does not spin");
    idle.parkAtMost(Long.MAX_VALUE);
    assertTrue(longestParkNs() >= PARK_NS * 9 / 10);
  }

  @Test
  void shouldNotParkOnceItIsStopped() {
    idleNs(BEFORE_PARKS);
    idle.stop();
    assertTrue(shortestNs(() -> {}, 10) < PARK_NS / 2);
  }

  /** The thread that parks waits at most 100 ms; whoever closes it does not wait for that. */
  @Test
  void shouldEndAParkWhenItIsStopped() throws Exception {
    long shortestNs = Long.MAX_VALUE;
    for (int i = 0; i < ROUNDS; i++) {
      final ParkingIdleStrategy strategy = new ParkingIdleStrategy();
      final CompletableFuture<Long> ended = new CompletableFuture<>();
      final Thread parked =
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int turn = 0; turn <= BEFORE_PARKS; turn++) {
                      strategy.idle();
                    }
                    ended.complete(System.nanoTime());
                  });
      while (parked.getState() != Thread.State.TIMED_WAITING && !ended.isDone()) {
        Thread.onSpinWait();
      }
      final long stoppedNs = System.nanoTime();
      strategy.stop();
      shortestNs = Math.min(shortestNs, Math.abs(ended.get() - stoppedNs));
    }
    assertTrue(shortestNs < PARK_NS / 2, shortestNs + " ns");
  }

  @Test
  void shouldBeWokenWhileItWatchesADescriptorAndBeforeItParks() throws Exception {
    try (NetlinkSocket events = NetlinkSocket.subscribe(NetlinkSocket.GROUP_LINK)) {
      idle.watch(events.fd());
      idleNs(BEFORE_PARKS);
      assertTrue(shortestNs(idle::wake, 1) < PARK_NS / 2);
      assertParksBriefly();
      final Thread waker =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!Thread.interrupted()) {
                      idle.wake();
                      Thread.yield();
                    }
                  });
      assertTrue(idleNs(10) < 10 * PARK_NS * 9 / 10);
      waker.interrupt();
      waker.join();
    } finally {
      idle.close();
      idle.wake();
    }
  }

  /** A thread that is woken for another reason need not read what it watches. */
  @Test
  void shouldSayOnceThatInputHasEndedAPark() {
    try (Arena arena = Arena.ofConfined()) {
      final int readable = LibC.eventFd(arena.allocate(LibC.CALL_STATE), 1, 0);
      idle.watch(readable);
      idleNs(BEFORE_PARKS);
      idle.wake();
      idleNs(1);
      assertFalse(idle.takeInput(), "it was woken");
      idleNs(1);
      assertTrue(idle.takeInput());
      assertFalse(idle.takeInput(), "once");
      Descriptors.close(readable);
    } finally {
      idle.close();
    }
  }
}
