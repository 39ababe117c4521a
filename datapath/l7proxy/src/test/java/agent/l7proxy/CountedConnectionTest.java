package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.testkit.OtherThread;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * An event loop that uses a connection at the moment at which another one changes what is counted.
 */
class CountedConnectionTest {
  private static final int MANY = 20_000;
  private static final RedirectedFlow FLOW =
      new RedirectedFlow(6, ProxyBench.LOOPBACK, 1, 1001, 1, ProxyBench.LOOPBACK, 80, 1002, 9);

  private final MockTicker ticker = Ticker.newMockTicker();
  private final ProxyConnections connections = new ProxyConnections(2 * MANY, ticker);
  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final Set<CountedConnection> taken = ConcurrentHashMap.newKeySet();
  private final Set<CountedConnection> used = ConcurrentHashMap.newKeySet();
  private final List<CountedConnection> idle =
      Stream.generate(() -> connections.add(FLOW, channel)).limit(MANY).toList();

  @BeforeEach
  void letTimePass() {
    ticker.advance(1, TimeUnit.SECONDS);
  }

  private static Consumer<CountedConnection> adding(
      Set<CountedConnection> to, Predicate<CountedConnection> call) {
    return connection -> {
      if (call.test(connection)) {
        to.add(connection);
      }
    };
  }

  @Test
  void shouldBeUsedOrTakenAndNotBoth() throws Exception {
    OtherThread.collide(
        idle, adding(used, CountedConnection::begin), adding(taken, CountedConnection::take));
    for (final CountedConnection connection : idle) {
      assertEquals(!taken.contains(connection), used.contains(connection));
    }
  }

  @Test
  void shouldBeEndedWhereItIsTakenThoughItHasJustBegunToBeUsed() throws Exception {
    OtherThread.collide(idle, CountedConnection::touch, adding(taken, CountedConnection::take));
    for (final CountedConnection connection : idle) {
      assertEquals(!taken.contains(connection), connection.begin());
    }
  }

  /** Otherwise it would be idle and in no queue, so that its descriptor could never be taken. */
  @Test
  void shouldBeInTheQueueWhereItIsIdleThoughItWasFoundAtWork() throws Exception {
    idle.forEach(connection -> assertTrue(connection.begin()));
    OtherThread.collide(idle, CountedConnection::idle, CountedConnection::leaveQueue);
    for (final CountedConnection connection : idle) {
      assertTrue(connection.take());
    }
  }

  @Test
  void shouldBeCountedWhereOneIsReleasedWhileAnotherOneIsAdded() throws Exception {
    OtherThread.collide(
        idle,
        CountedConnection::release,
        adding(used, connection -> connection.addServer() != null));
    assertEquals(MANY, used.size());
    assertEquals(MANY, connections.descriptors());
    assertEquals(0, connections.clientConnections());
  }
}
