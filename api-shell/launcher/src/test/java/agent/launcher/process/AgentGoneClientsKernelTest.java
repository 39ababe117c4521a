package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Clients that ask for much and leave before the answer. */
@KernelTest
class AgentGoneClientsKernelTest {
  private static final int DESCRIPTORS = 1_024;
  private static final int THREADS = 16;
  private static final long RUN_NS = TimeUnit.SECONDS.toNanos(3);
  private static final long LONGEST_HEALTH_MS = 1_000;
  private static final long LONGEST_PAUSE_MS = 3_000;
  private static final byte[] REQUEST =
      "GET /map/generations HTTP/1.1\r\nHost: localhost\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);

  private TestNode node;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void closeNode() throws Exception {
    node.close();
  }

  private static void askAndLeave(AgentProcess agent, long endNs) {
    while (System.nanoTime() < endNs) {
      try (SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX)) {
        client.connect(UnixDomainSocketAddress.of(agent.socket()));
        client.write(ByteBuffer.wrap(REQUEST));
        Thread.sleep(50);
      } catch (IOException full) {
        continue; // the queue of the socket is full
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  @Test
  void shouldServeOthersWhileClientsAskAndLeave() throws Exception {
    final AgentProcess agent = node.launchWithDescriptors(DESCRIPTORS).ready();
    final long endNs = System.nanoTime() + RUN_NS;
    final Thread[] threads = new Thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
      threads[i] = Thread.ofPlatform().daemon().start(() -> askAndLeave(agent, endNs));
    }
    final List<Long> tookMs = new ArrayList<>();
    while (System.nanoTime() < endNs) {
      for (final String path : new String[] {"/healthz", "/metrics/"}) {
        final long startNs = System.nanoTime();
        agent.expect(200, "GET", path, null);
        tookMs.add(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs));
      }
      Thread.sleep(20);
    }
    for (final Thread thread : threads) {
      thread.join();
    }
    tookMs.sort(null);
    final long mostTookMs =
        tookMs.get(tookMs.size() * 9 / 10); // the machine may pause all for once
    assertTrue(mostTookMs < LONGEST_HEALTH_MS, tookMs + " ms");
    assertTrue(tookMs.getLast() < LONGEST_PAUSE_MS, tookMs + " ms");
    final long leftNs = System.nanoTime();
    while (agent.metric("agent_api_connections") > 3) {
      Thread.sleep(20);
    }
    final long freedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - leftNs);
    assertTrue(freedMs < 2_000, freedMs + " ms until their connections are free");
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }
}
