package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjIntConsumer;

/** Work of several threads that is done in turn: a count without a lock loses nothing. */
public final class OneAtATime {
  private static final int THREADS = 4;
  private static final int ROUNDS = 20_000;

  private int count;

  /**
   * Makes threads submit work at the same time.
   *
   * @param given takes a piece of work and the number of the thread, from 0 on
   */
  public void assertHolds(ObjIntConsumer<Runnable> given) throws InterruptedException {
    final CountDownLatch all = new CountDownLatch(THREADS * ROUNDS);
    final Runnable work =
        () -> {
          count++;
          all.countDown();
        };
    final List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      final int number = i;
      callers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int k = 0; k < ROUNDS; k++) {
                      given.accept(work, number);
                    }
                  }));
    }
    for (final Thread caller : callers) {
      caller.join();
    }
    assertTrue(all.await(30, TimeUnit.SECONDS));
    assertEquals(THREADS * ROUNDS, count);
  }
}
