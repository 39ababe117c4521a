package agent.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class TrafficKernelTest {
  private NetworkNamespace left;
  private NetworkNamespace right;
  private VethPair veth;

  @BeforeEach
  void connect() {
    left = NetworkNamespace.create("tkl");
    right = NetworkNamespace.create("tkr");
    veth = VethPair.create(left, "left0", right, "right0");
    left.exec("ip", "address", "add", "10.11.0.1/24", "dev", "left0");
    right.exec("ip", "address", "add", "10.11.0.2/24", "dev", "right0");
    left.exec("ip", "address", "add", "fd11::1/64", "dev", "left0", "nodad");
    right.exec("ip", "address", "add", "fd11::2/64", "dev", "right0", "nodad");
  }

  @AfterEach
  void disconnect() {
    left.close();
    right.close();
  }

  @Test
  void shouldDistinguishConnectedRefusedAndUnanswered() throws Exception {
    for (final String address : new String[] {"10.11.0.2", "fd11::2"}) {
      try (TcpEchoServer server = TcpEchoServer.start(right, 7001)) {
        assertEquals(
            TcpConnection.Outcome.CONNECTED, TcpConnection.attempt(left, address, 7001, 2000));
        try (TcpConnection running = TcpConnection.open(left, address, 7001)) {
          assertTrue(running.exchangesMore(20, 5000));
          assertFalse(running.isCutFor(300));
          right.exec("ip", "link", "set", "right0", "arp", "off", "address", "02:00:00:00:00:99");
          assertTrue(running.isCutFor(300));
          right.exec("ip", "link", "set", "right0", "arp", "on", "address", veth.workloadMac());
          assertTrue(running.exchangesMore(20, 20000));
        }
        assertEquals(2, server.connections());
      }
      assertEquals(TcpConnection.Outcome.REFUSED, TcpConnection.attempt(left, address, 7001, 2000));
    }
    left.exec("ip", "neigh", "replace", "10.11.0.9", "lladdr", veth.hostMac(), "dev", "left0");
    assertEquals(
        TcpConnection.Outcome.UNANSWERED, TcpConnection.attempt(left, "10.11.0.9", 7001, 300));
  }

  @Test
  void shouldCountAConnectionAsSoonAsItsClientHasIt() throws Exception {
    try (TcpEchoServer server = TcpEchoServer.start(right, 7005)) {
      for (int i = 1; i <= 200; i++) {
        assertEquals(
            TcpConnection.Outcome.CONNECTED, TcpConnection.attempt(left, "10.11.0.2", 7005, 5000));
        assertEquals(i, server.connections());
      }
    }
    try (TcpEchoServer next = TcpEchoServer.start(right, 7005)) { // the port is free
      assertEquals(0, next.connections());
    }
  }

  @Test
  void shouldCountLostDatagrams() throws Exception {
    try (UdpEchoServer server = UdpEchoServer.start(right, "10.11.0.2", 7002);
        UdpStream stream = UdpStream.start(left, "10.11.0.2", 7002, 2)) {
      awaitReceived(stream, 1);
      assertTrue(stream.received() > 0);
      right.exec("ip", "link", "set", "right0", "down");
      final long before = stream.sent();
      Thread.sleep(200);
      final long missed = stream.sent() - before;
      assertTrue(missed > 0);
      assertTrue(stream.stopAndCountLost() >= missed);
      assertTrue(server.datagrams() > 0);
    }
  }

  @Test
  void shouldCountADatagramOnceThatIsAnsweredTwice() throws Exception {
    try (DatagramChannel server =
            right.run(() -> DatagramChannel.open().bind(new InetSocketAddress("10.11.0.2", 7003)));
        UdpStream stream = UdpStream.start(left, "10.11.0.2", 7003, 2)) {
      right.start("echo-twice", () -> echoOddNumbersTwice(server));
      awaitReceived(stream, 20);
      final long lost = stream.stopAndCountLost();
      assertEquals(stream.sent() / 2, lost);
      assertEquals(stream.sent() - lost, stream.received());
    }
  }

  @Test
  void shouldCountLostSegmentsAndNoOthers() throws Exception {
    try (TcpEchoServer server = TcpEchoServer.start(right, 7004);
        TcpConnection running = TcpConnection.open(left, "10.11.0.2", 7004)) {
      final TcpLosses losses = TcpLosses.of(left);
      assertTrue(running.exchangesMore(20, 20_000));
      assertEquals(0, losses.lost());
      right.exec("ip", "link", "set", "right0", "arp", "off", "address", "02:00:00:00:00:99");
      assertTrue(running.isCutFor(1000));
      right.exec("ip", "link", "set", "right0", "arp", "on", "address", veth.workloadMac());
      assertTrue(running.exchangesMore(20, 20_000));
      assertTrue(losses.lost() > 0);
      assertEquals(1, server.connections());
    }
  }

  private static void awaitReceived(UdpStream stream, long datagrams) throws InterruptedException {
    final long deadline = System.nanoTime() + 20_000_000_000L;
    while (stream.received() < datagrams && System.nanoTime() < deadline) {
      Thread.sleep(5);
    }
  }

  private static void echoOddNumbersTwice(DatagramChannel server) {
    final ByteBuffer buffer = ByteBuffer.allocate(Long.BYTES);
    while (server.isOpen()) {
      try {
        final SocketAddress peer = server.receive(buffer.clear());
        final long number = buffer.flip().getLong(0);
        if (number % 2 == 1) {
          server.send(buffer, peer);
          server.send(buffer.rewind(), peer);
        }
      } catch (IOException closed) {
        return;
      }
    }
  }

  @Test
  void shouldPingBothFamilies() {
    assertTrue(Ping.isAnswered(left, "10.11.0.2", 2000));
    assertTrue(Ping.isAnswered(left, "fd11::2", 2000));
    assertFalse(Ping.isAnswered(left, "10.11.0.3", 300));
  }

  @Test
  void shouldMountAndUnmountABpfFileSystem() {
    final TemporaryBpfFileSystem mounted = TemporaryBpfFileSystem.mount();
    final String type =
        left.exec("stat", "--file-system", "--format=%T", mounted.path().toString());
    assertEquals("bpf_fs", type.strip());
    mounted.close();
    assertFalse(Files.exists(mounted.path()));
  }

  @Test
  void shouldMeasureOnlyWhatIsAllocated() {
    final int[] sum = {0};
    final Runnable quiet = () -> sum[0]++;
    assertEquals(0, HeapAllocation.steady(1000, quiet));
    final byte[][] kept = {null};
    final Runnable loud =
        () -> {
          if (++sum[0] % 1000 == 0) {
            kept[0] = new byte[100];
          }
        };
    assertTrue(HeapAllocation.least(() -> HeapAllocation.of(1000, loud), 50_000_000) >= 100);
    assertTrue(HeapAllocation.of(1, () -> sum[0] += new byte[1000].length) >= 1000);
  }
}
