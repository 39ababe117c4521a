package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.server.socket.Peer;
import org.junit.jupiter.api.Test;

/** How many requests of one process and of all are at work at one time. */
class RequestSharesTest {
  private final RequestShares shares = new RequestShares(5, 3);

  private static Peer process(int pid) {
    return new Peer(pid, 0, 0);
  }

  private static Peer namespace(long inode) {
    return new Peer(0, inode, 0);
  }

  private static Peer user(int uid) {
    return new Peer(0, 0, uid);
  }

  private static void assertRefused(RequestShares of, Peer peer, String message) {
    final HttpRefusal refusal = assertThrows(HttpRefusal.class, () -> of.enter(peer));
    assertEquals(message, refusal.getMessage());
    assertEquals(503, refusal.status());
  }

  @Test
  void shouldLeaveEachProcessItsShare() {
    final Runnable first = shares.enter(process(7));
    shares.enter(process(7));
    shares.enter(process(7));
    assertRefused(shares, process(7), "process 7 already has 3 concurrent requests, its share");
    shares.enter(process(8));
    first.run();
    first.run();
    shares.enter(process(7));
    assertRefused(shares, process(7), "process 7 already has 3 concurrent requests, its share");
  }

  @Test
  void shouldLimitAllTogether() {
    shares.enter(process(7));
    final Runnable second = shares.enter(process(7));
    shares.enter(process(8));
    shares.enter(process(8));
    shares.enter(process(9));
    assertRefused(shares, process(10), "limit of 5 concurrent requests reached");
    second.run();
    shares.enter(process(10));
    assertRefused(shares, process(9), "limit of 5 concurrent requests reached");
  }

  /** A container whose processes have no number here: others are served, and other containers. */
  @Test
  void shouldGivePeersWithoutANumberOneShareOfWhichEachLeavesAsMuchAsItHas() {
    final RequestShares many = new RequestShares(16, 8);
    final Runnable first = many.enter(namespace(1));
    for (int i = 1; i < 4; i++) {
      many.enter(namespace(1));
    }
    assertRefused(
        many, namespace(1), "PID namespace 1 already has 4 concurrent requests, its share");
    many.enter(namespace(2));
    many.enter(namespace(2));
    assertRefused(
        many, namespace(2), "PID namespace 2 already has 2 concurrent requests, its share");
    many.enter(user(0));
    assertRefused(
        many,
        user(0),
        "user 0 of other PID namespaces already has 1 concurrent requests, its share");
    many.enter(user(5));
    assertRefused(
        many,
        Peer.UNKNOWN,
        "user -1 of other PID namespaces already has 0 concurrent requests, its share");
    for (int i = 0; i < 8; i++) {
      many.enter(process(i % 2 + 1));
    }
    assertRefused(many, process(3), "limit of 16 concurrent requests reached");
    first.run();
    many.enter(Peer.UNKNOWN);
    assertRefused(many, process(3), "limit of 16 concurrent requests reached");
  }

  @Test
  void shouldLetOnePeerWithoutANumberInWhereTheShareIsOne() {
    final RequestShares few = new RequestShares(2, 1);
    final Runnable first = few.enter(namespace(1));
    assertRefused(
        few, namespace(1), "PID namespace 1 already has 1 concurrent requests, its share");
    few.enter(process(1)).run();
    first.run();
    few.enter(namespace(2));
  }
}
