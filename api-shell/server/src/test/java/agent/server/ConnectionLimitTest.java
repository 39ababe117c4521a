package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** More clients than connections. */
@Timeout(120)
class ConnectionLimitTest {
  private static final int LIMIT = 8;

  private final List<RawClient> clients = new ArrayList<>();
  private final CountDownLatch answer = new CountDownLatch(1);

  @AfterEach
  void closeClients() throws IOException {
    answer.countDown();
    for (final RawClient client : clients) {
      client.close();
    }
  }

  @Test
  void shouldServeEachNewClientWhileIdleOnesHoldTheLimit() throws IOException {
    try (TestServer server = start()) {
      for (int i = 0; i < 10 * LIMIT; i++) {
        final RawClient client = connect(server);
        final String served = client.send(TestServer.get("/healthz")).readAnswer();
        assertTrue(served.endsWith("\"getHealthz\""), served);
        assertTrue(server.server().connections().open() <= LIMIT);
      }
      assertEquals(9 * LIMIT, server.server().connections().closedIdle());
      assertFalse(server.server().connections().isFull());
    }
  }

  @Test
  void shouldCloseTheClientThatWasIdleForLongest() throws Exception {
    try (TestServer server = start()) {
      for (int i = 0; i < LIMIT; i++) {
        connect(server).send(TestServer.get("/healthz")).readAnswer();
      }
      clients.getFirst().send(TestServer.get("/healthz")).readAnswer();
      until(() -> server.server().connections().inUse() == 0);
      connect(server).send(TestServer.get("/healthz")).readAnswer();
      assertEquals(-1, clients.get(1).read(1), "the second client is idle for the longest time");
      final String served = clients.getFirst().send(TestServer.get("/healthz")).readAnswer();
      assertTrue(served.endsWith("\"getHealthz\""), served);
    }
  }

  @Test
  void shouldServeThoseWhoWatchTheAgentWhileAllConnectionsAreInUse() throws Exception {
    try (TestServer server = start()) {
      for (int i = 0; i < LIMIT; i++) {
        connect(server).send(TestServer.get("/policy"));
      }
      until(() -> server.server().connections().inUse() == LIMIT);
      for (int i = 0; i < 5; i++) {
        final String health = connect(server).send(TestServer.get("/healthz")).readAnswer();
        assertTrue(health.endsWith("\"getHealthz\""), health);
        final String metrics = connect(server).send(TestServer.get("/metrics/")).readAnswer();
        assertTrue(metrics.endsWith("\"getMetrics\""), metrics);
      }
      assertTrue(server.server().connections().isFull());
      final String other = connect(server).send(TestServer.get("/config")).readAnswer();
      assertTrue(other.startsWith("HTTP/1.1 503 "), other);
      assertTrue(other.contains("limit of 8 concurrent requests reached"), other);
      answer.countDown();
      int answered = 0;
      for (final RawClient client : clients.subList(0, LIMIT)) {
        assertTrue(client.readAnswer().endsWith("\"late\""));
        answered++;
      }
      assertEquals(LIMIT, answered, "a request at work is not given up for a new client");
      final String later = connect(server).send(TestServer.get("/config")).readAnswer();
      assertTrue(later.endsWith("\"getConfig\""), later);
      assertFalse(server.server().connections().isFull());
    }
  }

  /** Those who watch hold few connections, which they share with whoever comes then. */
  @Test
  void shouldServeEachNewWatcherWhileAllConnectionsAreInUseAndOthersKeepTheirs() throws Exception {
    try (TestServer server = start()) {
      for (int i = 0; i < LIMIT; i++) {
        connect(server).send(TestServer.get("/policy"));
      }
      until(() -> server.server().connections().inUse() == LIMIT);
      for (int i = 0; i < 50; i++) {
        final String health = connect(server).send(TestServer.get("/healthz")).readAnswer();
        assertTrue(health.endsWith("\"getHealthz\""), health);
        assertTrue(server.server().connections().open() <= LIMIT + 16);
      }
    }
  }

  @Test
  void shouldLeaveOneProcessItsShareOfTheRequestsAtWork() throws Exception {
    try (TestServer server = TestServer.start(new ApiContext().maxConnections(LIMIT), late())) {
      for (int i = 0; i < LIMIT / 2; i++) {
        connect(server).send(TestServer.get("/policy"));
      }
      until(() -> server.server().connections().inUse() == LIMIT / 2);
      final String refused = connect(server).send(TestServer.get("/config")).readAnswer();
      assertTrue(refused.startsWith("HTTP/1.1 503 "), refused);
      assertTrue(refused.contains("Retry-After: 1\r\n"), refused);
      final String self = "process " + ProcessHandle.current().pid();
      assertTrue(refused.contains(self + " already has 4 concurrent requests, its share"), refused);
      answer.countDown();
      for (final RawClient client : clients.subList(0, LIMIT / 2)) {
        assertTrue(client.readAnswer().endsWith("\"late\""));
      }
      final String served = connect(server).send(TestServer.get("/config")).readAnswer();
      assertTrue(served.endsWith("\"getConfig\""), served);
    }
  }

  /** A worker that is busy does not keep the connection of a client that has gone. */
  @Test
  void shouldCloseTheConnectionsOfClientsThatHaveGoneWhileWorkersAreBusy() throws Exception {
    try (TestServer server = start()) {
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LIMIT; i++) {
          connect(server).send(TestServer.get("/policy"));
        }
        until(() -> server.server().connections().inUse() == LIMIT);
        for (final RawClient client : clients) {
          client.close();
        }
        until(() -> server.server().connections().open() == 0);
        clients.clear();
      }
      final RawClient half = connect(server).send(TestServer.get("/policy")).shutdownOutput();
      until(() -> server.server().connections().inUse() == 1);
      Thread.sleep(300);
      answer.countDown();
      assertTrue(half.readAnswer().endsWith("\"late\""), "it sends no more, but it reads");
    }
  }

  /** The reads of clients that have gone do not begin; changes do, since they were asked for. */
  @Test
  void shouldNotBeginReadsForClientsThatHaveGone() throws Exception {
    final AtomicInteger reads = new AtomicInteger();
    final Map<Route, ApiHandler> handlers =
        Map.of(
            Route.GET_POLICY,
            request -> {
              reads.incrementAndGet();
              answer.await();
              return Answer.ok("late");
            });
    final ApiContext context = new ApiContext().maxConnections(1_000);
    try (TestServer server = TestServer.start(context, handlers)) {
      for (int i = 0; i < 300; i++) {
        connect(server).send(TestServer.get("/policy"));
      }
      until(() -> server.server().connections().inUse() == 300);
      until(() -> reads.get() == ReadWorkers.AT_WORK);
      final String served =
          connect(server).send(TestServer.request("PUT", "/policy", "")).readAnswer();
      assertTrue(served.endsWith("\"putPolicy\""), "a change does not wait for reads");
      for (final RawClient client : clients) {
        client.close();
      }
      until(() -> server.server().connections().open() == 0);
      answer.countDown();
      final String next = connect(server).send(TestServer.get("/policy")).readAnswer();
      assertTrue(next.endsWith("\"late\""), next);
      assertEquals(ReadWorkers.AT_WORK + 1, reads.get());
    }
  }

  @Test
  void shouldReplaceClientsThatLetARequestWait() throws Exception {
    try (TestServer server = start()) {
      for (int i = 0; i < LIMIT; i++) {
        connect(server)
            .send("PUT /policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n[");
      }
      until(() -> server.server().connections().inUse() == LIMIT);
      String served;
      do {
        try (RawClient client = server.connect()) {
          served = client.send(TestServer.get("/config")).readAnswer();
        }
        Thread.sleep(20);
      } while (served.startsWith("HTTP/1.1 503 "));
      assertTrue(served.endsWith("\"getConfig\""), served);
      final long closed = server.server().connections().closedIdle();
      assertTrue(closed >= 1 && closed < LIMIT, closed + " are closed, and the others go on");
    }
  }

  @Test
  void shouldCountNoConnectionThatHasEnded() throws Exception {
    try (TestServer server = start()) {
      for (int round = 0; round < 20; round++) {
        for (int i = 0; i < LIMIT / 2; i++) {
          try (RawClient client = server.connect()) {
            client.send(TestServer.get("/healthz")).readAnswer();
          }
        }
        until(() -> server.server().connections().open() == 0);
      }
      assertEquals(0, server.server().connections().closedIdle());
    }
  }

  private TestServer start() throws IOException {
    return TestServer.start(
        new ApiContext().maxConnections(LIMIT).peerRequests(LIMIT).stallLimitMs(600_000), late());
  }

  private Map<Route, ApiHandler> late() {
    return Map.of(
        Route.GET_POLICY,
        request -> {
          answer.await();
          return Answer.ok("late");
        },
        Route.PUT_POLICY,
        request -> Answer.ok(request.bodyList(String.class).size()));
  }

  private RawClient connect(TestServer server) throws IOException {
    final RawClient client = server.connect();
    clients.add(client);
    return client;
  }

  private static void until(BooleanSupplier reached) throws InterruptedException {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!reached.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, "not reached within 60 s");
      Thread.sleep(5);
    }
  }
}
