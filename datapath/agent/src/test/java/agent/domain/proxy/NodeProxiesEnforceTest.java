package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.EnumSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When what the proxies have open obeys a policy, and how calls share the passes for it. */
@Timeout(60)
class NodeProxiesEnforceTest {
  private static final IpAddress ADDRESS = IpAddress.parse("192.0.2.7");

  private final CountDownLatch released = new CountDownLatch(1);
  private final AtomicInteger asked = new AtomicInteger();
  private RedirectBench bench;
  private Socket client;

  @BeforeEach
  void connect() throws Exception {
    bench = new RedirectBench();
    bench.flow = new RedirectedFlow(6, ADDRESS, 1000, 300, 7, ADDRESS, 80, 2, 0);
    bench.redirected = RedirectKind.HTTP;
    bench.proxies.need(EnumSet.of(RedirectKind.HTTP)).get(30, TimeUnit.SECONDS);
    client = new Socket("127.0.0.1", bench.proxies.firstPort(RedirectKind.HTTP).orElseThrow());
    bench.admits = () -> asked.incrementAndGet() > 0;
    while (asked.get() == 0) {
      bench.proxies.enforce().get(30, TimeUnit.SECONDS);
    }
    asked.set(0);
  }

  @AfterEach
  void close() throws Exception {
    released.countDown();
    client.close();
    bench.close();
  }

  /** Makes each pass wait in its question for the connection. */
  private void block() {
    bench.admits =
        () -> {
          asked.incrementAndGet();
          try {
            return released.await(30, TimeUnit.SECONDS);
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        };
  }

  @Test
  void shouldShareThePassAfterTheOneThatRuns() throws Exception {
    block();
    final CompletableFuture<Void> runs = bench.proxies.enforce();
    final CompletableFuture<Void> next = bench.proxies.enforce();
    assertNotSame(runs, next, "the rules may have changed since it began");
    assertSame(next, bench.proxies.enforce());
    assertFalse(runs.isDone() || next.isDone());
    released.countDown();
    next.get(30, TimeUnit.SECONDS);
    assertTrue(runs.isDone());
    assertEquals(2, asked.get());
    bench.proxies.enforce().get(30, TimeUnit.SECONDS);
    assertEquals(3, asked.get(), "a call after both has a pass of its own");
  }

  /** A reset, and no end of the stream, by which the peer could take what it has for whole. */
  @Test
  void shouldResetWhatIsOpenOfARemovedEndpoint() {
    bench.admits = () -> false;
    bench.proxies.endpointRemoved(7);
    assertThrows(SocketException.class, () -> client.getInputStream().read());
  }
}
