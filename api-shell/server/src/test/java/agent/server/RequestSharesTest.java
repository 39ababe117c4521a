package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** How many requests of one process and of all are at work at one time. */
class RequestSharesTest {
  private final RequestShares shares = new RequestShares(5, 3);

  private void assertRefused(int process, String message) {
    final HttpRefusal refusal = assertThrows(HttpRefusal.class, () -> shares.enter(process));
    assertEquals(message, refusal.getMessage());
    assertEquals(503, refusal.status());
  }

  @Test
  void shouldLeaveEachProcessItsShare() {
    final Runnable first = shares.enter(7);
    shares.enter(7);
    shares.enter(7);
    assertRefused(7, "process 7 has 3 requests at work, its share");
    shares.enter(8);
    first.run();
    first.run();
    shares.enter(7);
    assertRefused(7, "process 7 has 3 requests at work, its share");
  }

  @Test
  void shouldLimitAllTogether() {
    shares.enter(7);
    final Runnable second = shares.enter(7);
    shares.enter(8);
    shares.enter(8);
    shares.enter(9);
    assertRefused(10, "there are 5 requests at work, which is the limit");
    second.run();
    shares.enter(10);
    assertRefused(9, "there are 5 requests at work, which is the limit");
  }

  /** Peers in other PID namespaces cannot be distinguished: those together have no share. */
  @Test
  void shouldGiveNoShareToPeersWithoutANumber() {
    for (int i = 0; i < 5; i++) {
      shares.enter(0);
    }
    assertRefused(0, "there are 5 requests at work, which is the limit");
  }
}
