package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;
import agent.maps.layout.RedirectKind;
import agent.testkit.OtherThread;
import agent.types.OperationException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Two threads that start one proxy: it is started by one of them, or by one after the other. */
class ProxyStartLocksTest {
  private static final String REASON = "the port is taken";

  private final List<OtherThread<Integer>> others = new CopyOnWriteArrayList<>();
  private final List<Boolean> waiting = new CopyOnWriteArrayList<>();
  private ProxyHost host;

  /** Is asked for in the middle of a start, and fails it. */
  private HttpProxyContext http() {
    if (others.isEmpty()) {
      others.add(OtherThread.call(() -> host.start(RedirectKind.HTTP)));
      waiting.add(others.getFirst().waits());
    }
    throw new OperationException(REASON);
  }

  private void assertOneAfterTheOther() {
    for (final ProxyStart start :
        List.<ProxyStart>of(
            () -> host.start(RedirectKind.HTTP), () -> others.getFirst().result())) {
      assertEquals(REASON, assertThrows(OperationException.class, start::run).getMessage());
    }
    assertEquals(List.of(true), waiting);
  }

  private interface ProxyStart {
    int run() throws Exception;
  }

  @Test
  void shouldStartOneProxyOfAKindInThisProcess() {
    host = new LocalProxies(counter -> http(), DnsProxyContext::new);
    assertOneAfterTheOther();
  }

  @Test
  void shouldStartOneProcess() {
    host =
        new RemoteProxies(
            () -> {
              throw new AssertionError("none is started before its options are read");
            },
            new FakeAgentParts().parts(),
            new RemoteProxies.Options(
                this::http, DnsProxyContext::new, identity -> List.of(), () -> false),
            System::nanoTime,
            false);
    assertOneAfterTheOther();
    host.close();
  }
}
