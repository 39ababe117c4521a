package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathEvents.FlowSubscriber;
import agent.datapath.spec.FlowRing;
import agent.maps.kernel.EndpointMap;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class EventsKernelTest {
  private ManagerTestNode node;
  private Workload client;
  private Workload server;
  private DatapathManager manager;

  @BeforeEach
  void launch() {
    node = new ManagerTestNode();
    client = node.workload(61);
    server = node.workload(62);
    launch(new FlowRing(64, Set.of(), System::nanoTime));
  }

  private void launch(FlowRing flows) {
    manager = node.launch(node.context(), flows);
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(601, client, 6001), ManagerTestNode.allowAll());
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(602, server, 6002), ManagerTestNode.ingressOnly());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private record Seen(
      int type, int reason, int protocol, int port, int source, int destination, int family) {}

  @Test
  void shouldNotifySubscribersOfADeniedConnection() throws Exception {
    final BlockingQueue<Seen> seen = new ArrayBlockingQueue<>(1000);
    final FlowSubscriber subscriber =
        event ->
            seen.offer(
                new Seen(
                    event.type(),
                    event.reason(),
                    event.protocol(),
                    event.destinationPort(),
                    event.sourceIdentity(),
                    event.destinationIdentity(),
                    event.family()));
    await(manager.events().subscribe(subscriber));
    assertEquals(
        TcpConnection.Outcome.UNANSWERED,
        TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300));
    final Seen first = seen.poll(20, TimeUnit.SECONDS);
    assertNotNull(first);
    assertEquals(
        new Seen(
            EventType.DROP.number(), DropReason.POLICY_DENIED.number(), 6, 4321, 6001, 6002, 4),
        first);
    assertTrue(manager.events().received() >= 1);
    final FlowSubscriber other = event -> {};
    await(manager.events().subscribe(other));
    manager.events().unsubscribe(subscriber);
    Thread.sleep(50);
    seen.clear();
    TcpConnection.attempt(client.namespace(), server.ipv6(), 4321, 300);
    assertTrue(seen.isEmpty());
    assertTrue(manager.events().received() >= 2);
    assertEquals(0, manager.events().lost());
  }

  @Test
  void shouldEmitEventsOnlyWhileThereIsASubscriber() throws Exception {
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertEquals(0, notifications());
    final BlockingQueue<Integer> seen = new ArrayBlockingQueue<>(1000);
    final FlowSubscriber first = event -> seen.offer(event.type());
    final FlowSubscriber second = event -> {};
    await(manager.events().subscribe(first));
    await(manager.events().subscribe(second));
    assertEquals(EndpointOption.DROP_NOTIFICATION.number(), notifications());
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertEquals(EventType.DROP.number(), seen.poll(20, TimeUnit.SECONDS));
    manager.events().unsubscribe(first);
    await(manager.endpoints().known());
    assertEquals(EndpointOption.DROP_NOTIFICATION.number(), notifications());
    manager.events().unsubscribe(second);
    await(manager.endpoints().known());
    assertEquals(0, notifications());
    final long received = manager.events().received();
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    Thread.sleep(100);
    assertEquals(received, manager.events().received());
    manager.repairs().forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  /** One that wants no packets gets the same events meanwhile. */
  @Test
  void shouldCapturePacketsOnlyWhileASubscriberWantsThem() throws Exception {
    final BlockingQueue<Integer> captured = new ArrayBlockingQueue<>(1000);
    final FlowSubscriber plain = event -> captured.offer(event.capturedLength());
    final FlowSubscriber capturing =
        new FlowSubscriber() {
          @Override
          public void onEvent(FlowEventFlyweight event) {
            // the other one has it, too
          }

          @Override
          public boolean capturesPackets() {
            return true;
          }
        };
    await(manager.events().subscribe(plain));
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertEquals(0, captured.poll(20, TimeUnit.SECONDS));
    await(manager.events().subscribe(capturing));
    Thread.sleep(50);
    captured.clear();
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertTrue(captured.poll(20, TimeUnit.SECONDS) >= 54, "headers of Ethernet, IPv4 and TCP");
    manager.events().unsubscribe(capturing);
    await(manager.endpoints().known());
    Thread.sleep(50);
    captured.clear();
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertEquals(0, captured.poll(20, TimeUnit.SECONDS));
    manager.repairs().forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  /** Who subscribes now finds an event in the ring, or receives it. */
  @Test
  void shouldRecordEachEventBeforeItsSubscribersReceiveIt() throws Exception {
    final FlowRing flows = manager.events().flows();
    final UnsafeBuffer copy = new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH]);
    final FlowEventFlyweight recorded = new FlowEventFlyweight().wrap(copy, 0);
    final BlockingQueue<Boolean> seen = new ArrayBlockingQueue<>(1000);
    await(
        manager
            .events()
            .subscribe(
                event ->
                    seen.offer(
                        flows.read(flows.position() - 1, copy, 0)
                            && recorded.timestampNs() == event.timestampNs()
                            && recorded.destinationPort() == event.destinationPort())));
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertEquals(true, seen.poll(20, TimeUnit.SECONDS));
    assertEquals(manager.events().received(), flows.position());
  }

  @Test
  void shouldRecordTheTypesThatTheRingWantsWithoutASubscriber() throws Exception {
    manager.close();
    launch(new FlowRing(64, Set.of(EventType.DROP), System::nanoTime));
    assertEquals(EndpointOption.DROP_NOTIFICATION.number(), notifications());
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    final FlowRing flows = manager.events().flows();
    final UnsafeBuffer copy = new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH]);
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!flows.read(0, copy, 0)) {
      assertTrue(System.nanoTime() < endNs, "no event is recorded");
      Thread.sleep(2);
    }
    final FlowEventFlyweight recorded = new FlowEventFlyweight().wrap(copy, 0);
    assertEquals(EventType.DROP.number(), recorded.type());
    assertEquals(4321, recorded.destinationPort());
    assertEquals(6001, recorded.sourceIdentity());
  }

  /** Returns the notification options in the server's entry, which its programs read. */
  private int notifications() {
    final EndpointMap endpoints = new EndpointMap(manager.maps().find("endpoints").orElseThrow());
    assertEquals(0, endpoints.lookup(602));
    return endpoints.found().options()
        & (EndpointOption.DROP_NOTIFICATION.number()
            | EndpointOption.TRACE_NOTIFICATION.number()
            | EndpointOption.POLICY_VERDICT_NOTIFICATION.number());
  }

  @Test
  void shouldServeOtherSubscribersAfterOneFails() throws Exception {
    final BlockingQueue<Integer> seen = new ArrayBlockingQueue<>(1000);
    manager
        .events()
        .subscribe(
            event -> {
              throw new IllegalStateException("the subscriber fails");
            });
    await(manager.events().subscribe(event -> seen.offer(event.type())));
    TcpConnection.attempt(client.namespace(), server.ipv4(), 4321, 300);
    assertEquals(EventType.DROP.number(), seen.poll(20, TimeUnit.SECONDS));
  }

  @Test
  void shouldAllocateNothingWhileEventsArrive() throws Exception {
    final long[] count = {0};
    await(manager.events().subscribe(event -> count[0] += event.length() > 0 ? 1 : 0));
    final Thread reader =
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("dp-events"))
            .findFirst()
            .orElseThrow();
    deny(3000, 0); // warm-up: the JIT compiles the read path
    final long allocated =
        HeapAllocation.steady(
            reader,
            () -> {
              final long wanted = manager.events().received() + 100;
              for (int i = 0; i < 10 && manager.events().received() < wanted; i++) {
                deny(1000, 1);
              }
              assertTrue(manager.events().received() >= wanted);
            });
    assertEquals(0, allocated);
  }

  /** Sends datagrams that policy drops. */
  private void deny(int milliseconds, int intervalMs) throws Exception {
    try (UdpStream stream = UdpStream.start(client.namespace(), server.ipv4(), 4322, intervalMs)) {
      Thread.sleep(milliseconds);
      final long lost = stream.stopAndCountLost(); // stops sending before the counts are compared
      assertEquals(stream.sent(), lost);
    }
  }
}
