package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What other threads see of the proxies while they are lost, and while a pass begins. */
@Timeout(60)
class NodeProxiesLocksTest {
  private static final Set<RedirectKind> HTTP = EnumSet.of(RedirectKind.HTTP);

  private final Host host = new Host();
  private final List<OtherThread<?>> others = new CopyOnWriteArrayList<>();
  private final List<Boolean> waiting = new CopyOnWriteArrayList<>();
  private final NodeProxies proxies = new NodeProxies(new Datapath(), host);
  private volatile Callable<?> inTheMiddle;

  @AfterEach
  void close() {
    proxies.close();
  }

  private void callInTheMiddle() {
    if (inTheMiddle != null) {
      final OtherThread<?> other = OtherThread.call(inTheMiddle);
      inTheMiddle = null;
      waiting.add(other.waits());
      others.add(other);
    }
  }

  private final class Datapath implements RedirectProxy {
    @Override
    public Optional<IpAddress> address(boolean ipv6) {
      return Optional.empty();
    }

    @Override
    public int previousPort(RedirectKind kind) {
      return 0;
    }

    @Override
    public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
      callInTheMiddle();
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
      return Optional.empty();
    }

    @Override
    public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public Optional<String> refusal(RedirectedFlow flow) {
      return Optional.empty();
    }

    @Override
    public void leave(RedirectedFlow flow, int port) {
      throw new AssertionError("there are no flows");
    }
  }

  private final class Host implements ProxyHost {
    private final List<CompletableFuture<Void>> passes = new CopyOnWriteArrayList<>();
    private Consumer<String> lost;

    @Override
    public int start(RedirectKind kind) {
      return 1000;
    }

    @Override
    public CompletableFuture<Void> enforce() {
      final CompletableFuture<Void> pass = new CompletableFuture<>();
      passes.add(pass);
      callInTheMiddle();
      return pass;
    }

    @Override
    public ProxyCounts report(int endpointId) {
      return ProxyCounts.NONE;
    }

    @Override
    public void forget(int endpointId) {}

    @Override
    public void reopen() {}

    @Override
    public void whenLost(Consumer<String> listener) {
      lost = listener;
    }

    @Override
    public Optional<String> process() {
      return Optional.empty();
    }

    @Override
    public void close() {}
  }

  /** Otherwise a rule would be written for a proxy that has just ended. */
  @Test
  void shouldTellNoOneThatProxiesServeWhichAreBeingGivenUp() throws Exception {
    proxies.need(HTTP).join();
    assertTrue(proxies.serves(HTTP));
    inTheMiddle = () -> proxies.refusal(HTTP).isPresent() && !proxies.serves(HTTP);
    host.lost.accept("killed");
    assertEquals(List.of(true), waiting);
    assertEquals(true, others.getFirst().result());
  }

  @Test
  void shouldAskWhetherProxiesServeBetweenChanges() throws Exception {
    proxies.need(HTTP).join();
    inTheMiddle = () -> proxies.serves(HTTP);
    host.lost.accept("killed");
    assertEquals(List.of(true), waiting);
    assertEquals(false, others.getFirst().result());
  }

  /** The rules of the second call may be newer than what the pass has begun with. */
  @Test
  void shouldHaveAPassOfItsOwnForACallWhileOneBegins() throws Exception {
    proxies.need(HTTP).join();
    final CompletableFuture<Void> first = proxies.enforce();
    final CompletableFuture<Void> second = proxies.enforce();
    inTheMiddle = proxies::enforce;
    host.passes.getFirst().complete(null);
    first.join();
    while (others.isEmpty()) {
      Thread.onSpinWait();
    }
    final CompletableFuture<?> third = (CompletableFuture<?>) others.getFirst().result();
    assertEquals(List.of(true), waiting);
    assertNotSame(second, third);
    assertEquals(2, host.passes.size());
    host.passes.getLast().complete(null);
    second.join();
    while (host.passes.size() < 3) {
      Thread.onSpinWait();
    }
    assertFalse(third.isDone());
    host.passes.getLast().complete(null);
    third.join();
  }
}
