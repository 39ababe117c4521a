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
  void shouldLetNewClientsWaitWhileAllAreServed() throws Exception {
    try (TestServer server = start()) {
      for (int i = 0; i < LIMIT; i++) {
        connect(server).send(TestServer.get("/policy"));
      }
      final RawClient waiting = connect(server).send(TestServer.get("/healthz"));
      until(() -> server.server().connections().isFull());
      assertEquals(LIMIT, server.server().connections().open());
      assertEquals(0, server.server().connections().closedIdle());
      answer.countDown();
      assertTrue(waiting.readAnswer().endsWith("\"getHealthz\""));
      int answered = 0;
      for (final RawClient client : clients.subList(0, LIMIT)) {
        assertTrue(client.readAnswer().endsWith("\"late\""));
        answered++;
      }
      assertEquals(LIMIT, answered, "a request at work is not given up for a new client");
      assertFalse(server.server().connections().isFull());
    }
  }

  @Test
  void shouldReplaceClientsThatLetARequestWait() throws Exception {
    try (TestServer server = start()) {
      for (int i = 0; i < LIMIT; i++) {
        connect(server)
            .send("PUT /policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n[");
      }
      final String served = connect(server).send(TestServer.get("/healthz")).readAnswer();
      assertTrue(served.endsWith("\"getHealthz\""), served);
      assertEquals(1, server.server().connections().closedIdle(), "the others go on");
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
        new ApiContext().maxConnections(LIMIT).stallLimitMs(600_000),
        Map.of(
            Route.GET_POLICY,
            request -> {
              answer.await();
              return Answer.ok("late");
            },
            Route.PUT_POLICY,
            request -> Answer.ok(request.bodyList(String.class).size())));
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
