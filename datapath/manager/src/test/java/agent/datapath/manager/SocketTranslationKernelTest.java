package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathEvents.FlowSubscriber;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.BackendState;
import agent.maps.layout.EventGate;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.TranslationEventFlyweight;
import agent.maps.layout.TranslationPlace;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.types.IpAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Events of sockets that are given a backend, on the real kernel. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class SocketTranslationKernelTest {
  private static final int ID = 7;
  private static final int PORT = SocketClient.PORT;
  private static final int BACKEND = 8001;
  private static final int UDP = 17;
  private static final int SHARE = 5;

  private record Reported(
      int place,
      int protocol,
      int endpoint,
      int service,
      long cookie,
      IpAddress frontend,
      int frontendPort,
      IpAddress backend,
      int backendPort) {
    static Reported of(TranslationEventFlyweight event) {
      return new Reported(
          event.place(),
          event.protocol(),
          event.endpointId(),
          event.serviceId(),
          event.namespaceCookie(),
          address(event.family(), event.frontendAddressHigh(), event.frontendAddressLow()),
          event.frontendPort(),
          address(event.family(), event.backendAddressHigh(), event.backendAddressLow()),
          event.backendPort());
    }

    private static IpAddress address(int family, long high, long low) {
      final ByteBuffer bytes = ByteBuffer.allocate(16).putLong(high).putLong(low);
      return IpAddress.of(Arrays.copyOf(bytes.array(), family == 4 ? 4 : 16));
    }
  }

  private static Reported reported(SocketClient client, int port, long cookie) {
    return new Reported(
        TranslationPlace.SOCKET.number(),
        UDP,
        0,
        ID,
        cookie,
        IpAddress.parse(client.frontend),
        PORT,
        IpAddress.parse(client.backend),
        port);
  }

  /** Hears translations alone. */
  private static final class Listener implements FlowSubscriber {
    private final BlockingQueue<Reported> reported = new LinkedBlockingQueue<>();

    @Override
    public void onEvent(FlowEventFlyweight event) {
      throw new IllegalStateException("the programs emit an event of a packet");
    }

    @Override
    public void onTranslation(TranslationEventFlyweight event) {
      reported.add(Reported.of(event));
    }

    @Override
    public boolean hearsPackets() {
      return false;
    }

    @Override
    public boolean hearsTranslations() {
      return true;
    }

    Reported next() throws InterruptedException {
      return reported.poll(10, TimeUnit.SECONDS);
    }
  }

  private final Listener listener = new Listener();
  private ManagerTestNode node;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    node.namespace().ip("link set lo up");
    group = TestControlGroup.enter();
    manager = node.launch(node.context().cgroupRoot(group.path()).eventsPerSecond(SHARE));
    await(manager.services().restore(List.of(), Set.of()));
  }

  @AfterEach
  void remove() throws Exception {
    await(manager.services().restore(List.of(), Set.of()));
    manager.close();
    group.close();
    node.close();
  }

  private void serve(SocketClient client, int port) {
    await(
        manager
            .services()
            .put(
                new ServiceEntries(
                    ID,
                    IpAddress.parse(client.frontend),
                    PORT,
                    List.of(6, UDP),
                    0,
                    List.of(
                        new Backend(
                            IpAddress.parse(client.backend), port, BackendState.ACTIVE, 1)))));
  }

  private void connect(SocketClient client) throws Exception {
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(client.family)) {
                return channel.connect(client.service());
              }
            });
  }

  private int gate() {
    final BpfMap map = manager.maps().find("event_gate").orElseThrow();
    final EntryBuffer entry = new EntryBuffer(map);
    assertEquals(0, map.lookup(entry));
    return entry.value().getInt(0);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellTheBackendOfAConnectedSocketOnce(SocketClient client) throws Exception {
    serve(client, BACKEND);
    await(manager.events().subscribe(listener));
    connect(client);
    final Reported first = listener.next();
    assertNotEquals(0, first.cookie());
    assertEquals(reported(client, BACKEND, first.cookie()), first);
    serve(client, BACKEND + 1);
    connect(client);
    assertEquals(reported(client, BACKEND + 1, first.cookie()), listener.next());
    assertNull(listener.reported.poll());
  }

  /** A datagram of a peer that is kept is no translation of its own. */
  @ParameterizedTest
  @EnumSource
  void shouldTellEachNewBackendOfASocketThatSends(SocketClient client) throws Exception {
    serve(client, BACKEND);
    await(manager.events().subscribe(listener));
    node.namespace()
        .run(
            () -> {
              try (DatagramChannel channel = DatagramChannel.open(client.family)) {
                for (int i = 0; i < 5; i++) {
                  channel.send(ByteBuffer.allocate(4), client.service());
                }
                serve(client, BACKEND + 1);
                for (int i = 0; i < 5; i++) {
                  channel.send(ByteBuffer.allocate(4), client.service());
                }
              }
              return null;
            });
    final Reported first = listener.next();
    assertEquals(reported(client, BACKEND, first.cookie()), first);
    assertEquals(reported(client, BACKEND + 1, first.cookie()), listener.next());
    connect(client); // the next one, if none comes between
    assertEquals(reported(client, BACKEND + 1, first.cookie()), listener.next());
    assertNull(listener.reported.poll());
  }

  @Test
  void shouldEmitNothingWhileNoReaderWantsTranslations() throws Exception {
    serve(SocketClient.IPV4, BACKEND);
    assertEquals(0, gate());
    await(manager.events().subscribe(event -> {}));
    connect(SocketClient.IPV4);
    assertEquals(0, gate());
    await(manager.events().subscribe(listener));
    assertEquals(EventGate.TRANSLATIONS.number(), gate());
    connect(SocketClient.IPV4);
    assertTrue(listener.next() != null);
    assertEquals(1, manager.events().received(), "that of the last connection alone");
    manager.events().unsubscribe(listener);
    await(manager.endpoints().known());
    assertEquals(0, gate());
    connect(SocketClient.IPV4);
    final long polls = manager.events().polls();
    while (manager.events().polls() < polls + 2) {
      Thread.sleep(5);
    }
    assertEquals(1, manager.events().received());
  }

  /** Another namespace, as that of another workload, has its own. */
  @Test
  void shouldTellNoMoreThanTheShareOfANamespace() throws Exception {
    serve(SocketClient.IPV4, BACKEND);
    await(manager.events().subscribe(listener));
    final int connections = 200;
    connect(node.namespace(), connections);
    final long suppressed = manager.events().suppressed();
    assertTrue(suppressed > 0 && suppressed <= connections - SHARE, suppressed + " suppressed");
    long own = 0;
    for (long left = connections - suppressed; left > 0; left--) {
      final Reported next = listener.next();
      assertNotNull(next, left + " are missing");
      own = next.cookie;
    }
    assertNull(listener.reported.poll());
    try (NetworkNamespace other = NetworkNamespace.create("other")) {
      connect(node.namespace(), connections);
      connect(other, 1);
    }
    Reported next;
    do {
      next = listener.next();
      assertNotNull(next, "the one of the other namespace is missing");
    } while (next.cookie == own);
  }

  private static void connect(NetworkNamespace from, int connections) throws Exception {
    from.run(
        () -> {
          for (int i = 0; i < connections; i++) {
            try (DatagramChannel channel = DatagramChannel.open(SocketClient.IPV4.family)) {
              channel.connect(SocketClient.IPV4.service());
            }
          }
          return null;
        });
  }

  /** What a killed run has left open. */
  @Test
  void shouldCloseTheGateAtTheStart() {
    await(manager.events().subscribe(listener));
    manager.close(); // does not unsubscribe
    manager = node.launch(node.context().cgroupRoot(group.path()));
    await(manager.services().restore(List.of(), Set.of()));
    assertEquals(0, gate());
  }
}
