package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.KernelTest;
import agent.testkit.LargeSegments;
import agent.testkit.TestControlGroup;
import agent.testkit.Workload;
import agent.types.IpAddress;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** TCP between workloads in segments above 64 KiB, whose length is in no IP header. */
@KernelTest
class LargePacketKernelTest {
  private static final int SEGMENT_BYTES = 200_000;
  private static final int SENT_MB = 64;
  private static final int MB = 1 << 20;
  private static final int PORT = 8080;
  private static final int TIMEOUT_S = 60;

  private ManagerTestNode node;
  private Workload client;
  private Workload server;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() throws Exception {
    node = new ManagerTestNode();
    client = node.workload(11);
    server = node.workload(12);
    group = TestControlGroup.create();
    manager = node.launch(node.context().cgroupRoot(group.path()));
    await(manager.services().restore(List.of(), Set.of()));
    for (final Workload workload : List.of(client, server)) {
      LargeSegments.allow(workload.veth(), SEGMENT_BYTES);
    }
    ManagerTestNode.attachAll(manager, List.of(client, server));
  }

  @AfterEach
  void remove() throws Exception {
    await(manager.services().restore(List.of(), Set.of()));
    manager.close();
    group.close();
    node.close();
  }

  private void serve(String frontend, String backend) {
    await(
        manager
            .services()
            .put(
                new ServiceEntries(
                    frontend.indexOf(':') < 0 ? 1 : 2,
                    IpAddress.parse(frontend),
                    PORT,
                    List.of(6),
                    0,
                    List.of(new Backend(IpAddress.parse(backend), PORT, BackendState.ACTIVE, 1)))));
  }

  /**
   * To a workload, and to a service that packets are translated for. The stack of this kernel does
   * not forward the IPv6 ones: it takes them for larger than the MTU (Ip6InTooBigErrors).
   */
  @ParameterizedTest
  @CsvSource({
    "true, 10.77.0.12",
    "true, fd77::12",
    "true, 10.96.0.1",
    "true, fd96::1",
    "false, 10.77.0.12",
    "false, 10.96.0.1"
  })
  void shouldCarrySegmentsAbove64KilobytesPastTheStackAndThroughIt(boolean isPast, String target)
      throws Exception {
    await(manager.bypassStack(isPast));
    serve("10.96.0.1", server.ipv4());
    serve("fd96::1", server.ipv6());
    final Map<DropReason, Long> before = drops();
    try (LargeSegments segments = LargeSegments.in(server.namespace())) {
      assertEquals((long) SENT_MB * MB, transfer(target));
      assertTrue(segments.received() > 0, "no segment above 64 KiB");
    }
    assertEquals(before, drops());
  }

  /** Returns how many bytes arrive. */
  private long transfer(String address) throws Exception {
    try (ServerSocket listener = server.namespace().run(() -> new ServerSocket(PORT));
        Socket socket = client.namespace().run(() -> open(address));
        Socket accepted = listener.accept()) {
      final CompletableFuture<Long> received =
          CompletableFuture.supplyAsync(() -> receive(accepted));
      final byte[] block = new byte[MB];
      final OutputStream out = socket.getOutputStream();
      for (int i = 0; i < SENT_MB; i++) {
        out.write(block);
      }
      socket.shutdownOutput();
      return received.get(TIMEOUT_S, TimeUnit.SECONDS);
    }
  }

  private static Socket open(String address) throws IOException {
    return new Socket(InetAddress.ofLiteral(address), PORT);
  }

  private static long receive(Socket socket) {
    final byte[] block = new byte[MB];
    long bytes = 0;
    try {
      final InputStream in = socket.getInputStream();
      for (int read = in.read(block); read >= 0; read = in.read(block)) {
        bytes += read;
      }
      return bytes;
    } catch (IOException ended) {
      throw new IllegalStateException(ended);
    }
  }

  /** Returns the packets that were dropped, by reason, but for requests of ARP and ND. */
  private Map<DropReason, Long> drops() {
    final Map<DropReason, Long> drops = new EnumMap<>(DropReason.class);
    for (final MetricsDirection direction : MetricsDirection.values()) {
      for (final DropReason reason : DropReason.values()) {
        drops.merge(
            reason, manager.metrics().packets(direction.number(), reason.number()), Long::sum);
      }
    }
    drops.remove(DropReason.NONE);
    drops.remove(DropReason.NEIGHBOUR_UNKNOWN);
    return drops;
  }
}
