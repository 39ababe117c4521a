package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.RedirectedFlow;
import agent.testkit.api.RecordedLog;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many connections a client gets, and what the others have left. */
@Timeout(60)
class ClientConnectionsTest {
  private static final int MOST = 30;

  private static RedirectedFlow flow(int client, int server) {
    return new RedirectedFlow(
        6, ProxyBench.LOOPBACK, 1, 1001, client, ProxyBench.LOOPBACK, 80, 1002, server);
  }

  private static int fill(ClientConnections connections, RedirectedFlow flow) {
    int count = 0;
    while (connections.add(flow)) {
      count++;
      assertTrue(count <= MOST);
    }
    return count;
  }

  @Test
  void shouldGiveOneClientAThirdAndTheNextOnesAShareOfTheRest() {
    final ClientConnections connections = new ClientConnections(MOST);
    assertEquals(MOST / 3, fill(connections, flow(1, 9)));
    assertEquals(7, fill(connections, flow(2, 9)));
    assertEquals(5, fill(connections, flow(3, 9)));
    for (int client = 4; client < 8; client++) {
      assertTrue(connections.add(flow(client, 9)), "client " + client);
    }
    assertFalse(connections.add(flow(1, 9)));
    assertEquals(MOST / 3 + 7 + 5 + 4, connections.open());
    assertEquals(4, connections.refused());
  }

  @Test
  void shouldNeverOpenMoreThanThereMayBe() {
    final ClientConnections connections = new ClientConnections(MOST);
    for (int client = 1; client < 1_000; client++) {
      fill(connections, flow(client, 9));
    }
    assertEquals(MOST, connections.open());
  }

  @Test
  void shouldGiveBackWhatIsClosed() {
    final ClientConnections connections = new ClientConnections(MOST);
    fill(connections, flow(1, 9));
    connections.remove(flow(1, 9));
    assertTrue(connections.add(flow(1, 8)));
    assertFalse(connections.add(flow(1, 9)));
    for (int i = 0; i < MOST / 3; i++) {
      connections.remove(flow(1, 9));
    }
    assertEquals(0, connections.open());
    assertEquals(MOST / 3, fill(connections, flow(1, 9)));
  }

  @Test
  void shouldCountClientsOutsideByTheEndpointThatTheyConnectTo() {
    final ClientConnections connections = new ClientConnections(MOST);
    assertEquals(MOST / 3, fill(connections, flow(0, 1)));
    assertTrue(connections.add(flow(0, 2)));
    assertTrue(connections.add(flow(1, 1)), "the endpoint itself is another client");
  }

  @Test
  void shouldLogTheFirstRefusalAndThenOnceAMinute() {
    final MockTicker ticker = Ticker.newMockTicker();
    final ClientConnections connections = new ClientConnections(MOST, ticker);
    try (RecordedLog log = RecordedLog.of(ClientConnections.class)) {
      fill(connections, flow(3, 9));
      assertEquals(List.of(refusal("endpoint 3", 10, 10, 1)), log.take());
      fill(connections, flow(0, 9));
      ticker.advance(59_999, TimeUnit.MILLISECONDS);
      assertFalse(connections.add(flow(3, 9)));
      assertEquals(List.of(), log.take());
      ticker.advance(1, TimeUnit.MILLISECONDS);
      assertFalse(connections.add(flow(0, 9)));
      assertEquals(List.of(refusal("clients outside to endpoint 9", 17, 7, 3)), log.take());
      assertFalse(connections.add(flow(0, 9)));
      assertEquals(List.of(), log.take());
    }
  }

  private static String refusal(String client, int open, int own, int refused) {
    return ("WARN HTTP proxy: a connection of %s is refused: %d of 30 connections are open, %d of"
            + " them so; refused since the last message: %d")
        .formatted(client, open, own, refused);
  }

  @Test
  void shouldLeaveConnectionsForOtherWorkloads() throws Exception {
    final List<HttpSocket> open = new ArrayList<>();
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port(), context -> context.connections(MOST))) {
      for (int i = 0; i < MOST; i++) {
        open.add(bench.client());
      }
      await(bench, MOST / 3, MOST - MOST / 3);
      assertEquals(MOST / 3, open.stream().filter(ClientConnectionsTest::isServed).count());
      bench.clientEndpoint = 8;
      try (HttpSocket other = bench.client()) {
        assertEquals(200, other.get("/other").status());
      }
      for (final HttpSocket client : open) {
        client.close();
      }
      await(bench, 0, MOST - MOST / 3);
      bench.clientEndpoint = 7;
      try (HttpSocket again = bench.client()) {
        assertEquals(200, again.get("/again").status());
      }
    }
  }

  private static boolean isServed(HttpSocket client) {
    try {
      return client.get("/x").status() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  private static void await(ProxyBench bench, int open, long refused) throws InterruptedException {
    while (bench.proxy.connections() != open || bench.proxy.refusedConnections() != refused) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  @Test
  void shouldUseAQuarterOfTheDescriptorsForConnectionsAndThoseToServers() {
    assertEquals(128, HttpProxyContext.mostConnections(1_024));
    assertEquals(32, HttpProxyContext.mostConnections(256));
    assertEquals(32_768, HttpProxyContext.mostConnections(1 << 30));
  }
}
