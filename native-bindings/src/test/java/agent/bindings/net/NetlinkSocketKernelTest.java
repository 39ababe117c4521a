package agent.bindings.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.EventPoll;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class NetlinkSocketKernelTest {
  private static final int RTM_NEWLINK = 16;
  private static final int RTM_NEWADDR = 20;

  private NetworkNamespace namespace;

  @BeforeEach
  void setUp() {
    namespace = NetworkNamespace.create("netlink");
  }

  @AfterEach
  void tearDown() {
    namespace.close();
  }

  private static NetlinkRequest addressOnLoopback(int lastByte) {
    final byte[] address = {10, 0, (byte) (lastByte >> 8), (byte) lastByte};
    return new NetlinkRequest(
            "address " + lastByte,
            RTM_NEWADDR,
            NetlinkRequest.NLM_F_CREATE | NetlinkRequest.NLM_F_EXCL)
        .putByte(2)
        .putByte(32)
        .putShort(0)
        .putInt(1)
        .attribute(2, address);
  }

  private static NetlinkRequest up(int ifindex) {
    return new NetlinkRequest("link " + ifindex, RTM_NEWLINK, 0)
        .putInt(0)
        .putInt(ifindex)
        .putInt(1)
        .putInt(1);
  }

  @Test
  void shouldSendManyRequestsAndNameTheFailedOnes() throws Exception {
    final List<NetlinkRequest> requests = new ArrayList<>();
    for (int i = 1; i <= 1000; i++) {
      requests.add(i % 100 == 0 ? up(99_999) : addressOnLoopback(i));
    }
    final List<NetlinkSocket.Failure> failures =
        namespace.run(
            () -> {
              try (NetlinkSocket socket = NetlinkSocket.open()) {
                return socket.requestAll(requests);
              }
            });
    assertEquals(
        List.of(99, 199, 299, 399, 499, 599, 699, 799, 899, 999),
        failures.stream().map(NetlinkSocket.Failure::index).toList());
    assertTrue(failures.stream().allMatch(f -> f.cause().errno() == Errno.ENODEV));
    assertEquals(990, namespace.exec("ip", "-4", "-o", "address", "show").lines().count() - 1L);
  }

  @Test
  void shouldReportTheKernelsExplanation() throws Exception {
    namespace.run(
        () -> {
          try (NetlinkSocket socket = NetlinkSocket.open()) {
            final NetlinkRequest request =
                new NetlinkRequest("route", 24, NetlinkRequest.NLM_F_CREATE)
                    .putByte(2)
                    .putByte(33)
                    .putShort(0)
                    .putInt(0)
                    .putInt(0);
            final NetlinkException failure = socket.requestAll(List.of(request)).getFirst().cause();
            assertEquals("route: EINVAL: Invalid prefix length", failure.getMessage());
            assertEquals(Errno.EINVAL, failure.errno());
            assertEquals(List.of(), socket.requestAll(List.of(up(1))));
          }
          return null;
        });
  }

  @Test
  void shouldReceiveEventsWithoutWaitingOrAllocating() throws Exception {
    namespace.run(
        () -> {
          try (NetlinkSocket events = NetlinkSocket.subscribe(NetlinkSocket.GROUP_IPV4_ADDRESS);
              NetlinkSocket requests = NetlinkSocket.open();
              EventPoll poll = new EventPoll()) {
            poll.add(events.fd());
            assertEquals(-Errno.EAGAIN, events.receive());
            assertEquals(0, HeapAllocation.steady(50_000, events::receive));
            assertEquals(List.of(), requests.requestAll(List.of(addressOnLoopback(1))));
            assertEquals(1, poll.await(1000));
            assertTrue(events.receive() > 0);
            assertTrue(events.messages().next());
            assertEquals(RTM_NEWADDR, events.messages().type());
            assertEquals(-Errno.EAGAIN, events.receive());
            assertEquals(List.of(), requests.requestAll(List.of(up(1))));
            assertEquals(-Errno.EAGAIN, events.receive());
          }
          return null;
        });
  }

  @Test
  void shouldWorkInTheNamespaceOfTheThreadThatOpensIt() throws Exception {
    try (NetworkNamespace other = NetworkNamespace.create("netlink")) {
      for (final NetworkNamespace here : List.of(namespace, other)) {
        here.run(
            () -> {
              try (NetlinkSocket socket = NetlinkSocket.open()) {
                assertEquals(List.of(), socket.requestAll(List.of(addressOnLoopback(77))));
              }
              return null;
            });
        assertTrue(here.exec("ip", "-4", "-o", "address", "show").contains("10.0.0.77"));
      }
    }
  }
}
