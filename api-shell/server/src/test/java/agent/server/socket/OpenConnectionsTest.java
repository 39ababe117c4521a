package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.net.PeerCredentials;
import agent.testkit.OtherThread;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How many connections there may be, and which one makes room. */
@Timeout(60)
class OpenConnectionsTest {
  private static final long SEC_NS = TimeUnit.SECONDS.toNanos(1);

  @TempDir private Path directory;
  private final AtomicInteger rooms = new AtomicInteger();
  private final OpenConnections open = new OpenConnections(2, rooms::incrementAndGet);
  private AcceptedSockets sockets;
  private UnixIoThread ioThread;

  @BeforeEach
  void start() throws IOException {
    sockets = new AcceptedSockets(directory);
    ioThread = sockets.ioThread;
  }

  @AfterEach
  void end() throws Exception {
    sockets.close();
  }

  /** Connects a client that was active so long ago. */
  private UnixStreamConnection connect(long idleSec) throws IOException {
    final UnixStreamConnection connection = sockets.connect(open, TimeUnit.HOURS.toNanos(1));
    connection.onActivity(System.nanoTime() - idleSec * SEC_NS);
    return connection;
  }

  /** Connects a client whose request waits for it. */
  private UnixStreamConnection connectWaiting(long idleSec) throws Exception {
    final UnixStreamConnection connection = connect(idleSec);
    connection.beginRequest();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                connection.getSourceChannel().awaitReadable();
              } catch (IOException closed) {
                // the test has ended
              }
            });
    while (!connection.waitsForClient()) {
      Thread.sleep(1);
    }
    return connection;
  }

  /** Asks for room, and waits until the I/O thread has done what it had to do. */
  private void closeLongestIdle() {
    closeLongestIdle(System.nanoTime());
  }

  private void closeLongestIdle(long nowNs) {
    open.closeLongestIdle(nowNs);
    sockets.ioTasks();
  }

  @Test
  void shouldHaveRoomUpToItsLimit() throws IOException {
    assertTrue(open.hasRoom());
    open.accepted();
    assertTrue(open.hasRoom());
    final UnixStreamConnection connection = connect(0);
    assertFalse(open.hasRoom());
    assertEquals(new ConnectionCounts(2, 0, 2, 0, false), open.counts());
    open.drop();
    assertTrue(open.hasRoom());
    assertEquals(1, rooms.get());
    connection.beginRequest();
    assertEquals(new ConnectionCounts(1, 1, 2, 0, false), open.counts());
    open.remove(connection);
    open.remove(connection);
    assertEquals(0, open.counts().open());
    assertEquals(2, rooms.get(), "it is removed once");
    connection.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void shouldCloseTheOneThatIsIdleForTheLongestTime(int longest) throws Exception {
    final List<UnixStreamConnection> connections = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      connections.add(connect(i == longest ? 20 : 10 + i));
    }
    connectWaiting(30);
    closeLongestIdle();
    for (int i = 0; i < 3; i++) {
      assertEquals(i != longest, connections.get(i).isOpen());
    }
    assertEquals(1, open.counts().closedIdle());
    assertEquals(1, rooms.get());
    closeLongestIdle();
    assertEquals(1, connections.stream().filter(UnixStreamConnection::isOpen).count());
  }

  @Test
  void shouldCloseOneAtATime() throws Exception {
    connect(1);
    connect(2);
    final CountDownLatch held = AcceptedSockets.hold(ioThread);
    open.closeLongestIdle(System.nanoTime());
    open.closeLongestIdle(System.nanoTime());
    held.countDown();
    sockets.ioTasks();
    assertEquals(1, open.counts().closedIdle());
    assertEquals(1, open.counts().open());
  }

  @Test
  void shouldKeepTheOneWhoseRequestHasJustCome() throws Exception {
    final UnixStreamConnection connection = connect(1);
    sockets.last().write(ByteBuffer.wrap(new byte[] {'G'}));
    closeLongestIdle();
    assertTrue(connection.isOpen());
    assertEquals(0, open.counts().closedIdle());
    assertEquals(1, rooms.get(), "another one may make room");
    connection.getSourceChannel().read(ByteBuffer.allocate(1));
    closeLongestIdle();
    assertFalse(connection.isOpen());
  }

  @Test
  void shouldBeFullWhileAllAreServed() throws Exception {
    final UnixStreamConnection first = connect(100);
    first.beginRequest();
    closeLongestIdle();
    assertFalse(open.counts().isFull(), "there is room");
    connect(100).beginRequest();
    assertFalse(open.counts().isFull(), "no client waits");
    closeLongestIdle();
    assertTrue(open.counts().isFull());
    assertEquals(0, open.counts().closedIdle());
    first.endRequest();
    closeLongestIdle();
    assertFalse(first.isOpen());
    assertFalse(open.counts().isFull());
  }

  @Test
  void shouldCloseTheOneWhoseRequestWaitsForItForMoreThanFiveSeconds() throws Exception {
    final UnixStreamConnection shorter = connectWaiting(4);
    final UnixStreamConnection longer = connectWaiting(6);
    final long fiveSecNs = longer.lastActiveNs() + 5 * SEC_NS;
    closeLongestIdle(fiveSecNs);
    assertTrue(longer.isOpen());
    closeLongestIdle(fiveSecNs + 1);
    assertTrue(shorter.isOpen());
    assertFalse(longer.isOpen());
  }

  /** The best of some rounds, since the machine may be slow. */
  @Test
  void shouldCloseAConnectionWithinATenthOfASecondAfterItsClientHasGone() throws Exception {
    long shortestNs = Long.MAX_VALUE;
    for (int round = 0; round < 8 && shortestNs > SEC_NS / 8; round++) {
      final UnixStreamConnection connection = connect(0);
      connection.beginRequest();
      connection.watchHangup();
      final long goneNs = System.nanoTime();
      sockets.last().close();
      while (connection.isOpen()) {
        Thread.sleep(1);
      }
      assertTrue(connection.isGone());
      shortestNs = Math.min(shortestNs, System.nanoTime() - goneNs);
    }
    assertTrue(shortestNs <= SEC_NS / 8, shortestNs + " ns");
  }

  /** Two listeners ask for room at one moment. */
  @Test
  void shouldCloseOneAtATimeForTwoThreads() throws Exception {
    for (int round = 0; round < 50; round++) {
      final UnixStreamConnection first = connect(1);
      final UnixStreamConnection second = connect(2);
      final CountDownLatch held = AcceptedSockets.hold(ioThread);
      OtherThread.collide(
          List.of(round), any -> open.closeLongestIdle(0), any -> open.closeLongestIdle(0));
      held.countDown();
      sockets.ioTasks();
      assertEquals(round + 1, open.counts().closedIdle());
      assertFalse(second.isOpen());
      first.close();
    }
  }

  @Test
  void shouldAskWhoTheClientIsForOneThreadAfterTheOther() throws Exception {
    final UnixStreamConnection connection = connect(0);
    final List<OtherThread<PeerCredentials>> credentials = new ArrayList<>();
    final List<OtherThread<Peer>> peers = new ArrayList<>();
    synchronized (connection) { // as the first one does
      for (int thread = 0; thread < 2; thread++) {
        credentials.add(OtherThread.call(connection::credentials));
        peers.add(OtherThread.call(connection::peer));
        assertTrue(credentials.getLast().waits());
        assertTrue(peers.getLast().waits());
      }
    }
    assertSame(credentials.getFirst().result(), credentials.getLast().result());
    assertSame(peers.getFirst().result(), peers.getLast().result());
  }
}
