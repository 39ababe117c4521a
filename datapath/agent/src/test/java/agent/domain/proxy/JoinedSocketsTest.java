package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Which sockets get the address of a client that the proxy process names. */
class JoinedSocketsTest {
  private static final int FIRST_PORT = 12_000;
  private static final RedirectedFlow FLOW = flow("10.1.0.1", "10.1.0.2", 9);
  private static final RedirectedFlow FLOW6 = flow("fd00::1", "fd00::2", 9);

  private final Map<Integer, RedirectedFlow> sent = new HashMap<>();
  private final List<String> calls = new ArrayList<>();
  private CompletableFuture<Void> answer = CompletableFuture.completedFuture(null);
  private final JoinedSockets sockets =
      new JoinedSockets(
          new RedirectProxy() {
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
              return CompletableFuture.completedFuture(null);
            }

            @Override
            public Optional<RedirectedFlow> find(
                int protocol, IpAddress client, int clientPort, int port) {
              return Optional.ofNullable(sent.get(port))
                  .filter(flow -> flow.client().equals(client) && flow.clientPort() == clientPort);
            }

            @Override
            public Optional<String> refusal(RedirectedFlow flow) {
              return Optional.empty();
            }

            @Override
            public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
              calls.add("join " + flow.clientIdentity() + " " + flow.server() + " " + port);
              return answer;
            }

            @Override
            public void leave(RedirectedFlow flow, int port) {
              calls.add("leave " + flow.server() + " " + port);
            }
          });

  private static RedirectedFlow flow(String client, String server, int serverEndpoint) {
    return new RedirectedFlow(
        6,
        IpAddress.parse(client),
        4_000,
        1_001,
        7,
        IpAddress.parse(server),
        80,
        1_002,
        serverEndpoint);
  }

  private boolean join(RedirectedFlow flow, int port) {
    return !sockets.join(flow, port).isCompletedExceptionally();
  }

  @Test
  void shouldJoinOnlyFlowsThatTheDatapathHasSentToAPortOfAProxy() {
    sent.put(FIRST_PORT + RedirectProxy.PORTS - 1, FLOW);
    assertFalse(join(FLOW, 40_000), "no proxy has ports");
    sockets.serve(FIRST_PORT);
    assertTrue(join(FLOW, 40_000));
    assertFalse(join(flow("10.1.0.3", "10.1.0.2", 9), 40_001), "another client");
    assertFalse(join(flow("10.1.0.1", "10.1.0.4", 9), 40_001), "another server");
    assertFalse(join(flow("10.1.0.1", "10.1.0.2", 8), 40_001), "another endpoint");
    sent.put(FIRST_PORT + RedirectProxy.PORTS, FLOW6);
    assertFalse(join(FLOW6, 40_001), "a port of no proxy");
    assertEquals(List.of("join 1001 10.1.0.2 40000"), calls);
  }

  @Test
  void shouldJoinWithTheIdentityThatTheDatapathKnows() {
    sockets.serve(FIRST_PORT);
    sent.put(FIRST_PORT, FLOW);
    final RedirectedFlow forged =
        new RedirectedFlow(
            6, FLOW.client(), 4_000, 1, 7, FLOW.server(), 80, FLOW.serverIdentity(), 9);
    assertTrue(join(forged, 40_000));
    assertEquals(List.of("join 1001 10.1.0.2 40000"), calls);
  }

  @Test
  void shouldJoinNoFlowToWhatIsNoEndpoint() {
    sockets.serve(FIRST_PORT);
    sent.put(FIRST_PORT, flow("10.1.0.1", "192.0.2.1", 0));
    assertFalse(join(sent.get(FIRST_PORT), 40_000));
  }

  @Test
  void shouldBoundTheSocketsThatWaitAndNotCountThoseThatWereRefused() {
    sockets.serve(FIRST_PORT);
    sent.put(FIRST_PORT, FLOW);
    final CompletableFuture<Void> waiting = new CompletableFuture<>();
    answer = waiting;
    for (int i = 0; i < 16_384; i++) {
      assertTrue(join(FLOW, 20_000 + i));
    }
    assertFalse(join(FLOW, 20_000));
    waiting.completeExceptionally(new IllegalStateException("refused"));
    answer = CompletableFuture.completedFuture(null);
    assertTrue(join(FLOW, 20_000));
  }

  @Test
  void shouldLeaveEachSocketOnceAndAllThatAreLeftWhenTheProcessIsGone() {
    sockets.serve(FIRST_PORT);
    sent.put(FIRST_PORT, FLOW);
    sent.put(FIRST_PORT + 1, FLOW6);
    assertTrue(join(FLOW, 40_000) && join(FLOW, 40_001) && join(FLOW6, 40_000));
    calls.clear();
    sockets.leave(FLOW, 40_000);
    sockets.leave(FLOW, 40_000);
    sockets.leave(FLOW, 50_000);
    assertEquals(List.of("leave 10.1.0.2 40000"), calls);
    sockets.leaveAll();
    sockets.leaveAll();
    assertEquals(3, calls.size());
    assertTrue(calls.contains("leave 10.1.0.2 40001") && calls.contains("leave fd00::2 40000"));
  }
}
