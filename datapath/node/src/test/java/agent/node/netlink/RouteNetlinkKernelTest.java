package agent.node.netlink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.EventPoll;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkSocket;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class RouteNetlinkKernelTest {
  private NetworkNamespace host;
  private NetworkNamespace workload;

  @BeforeEach
  void setUp() {
    host = NetworkNamespace.create("rtnl");
    workload = NetworkNamespace.create("rtnl");
  }

  @AfterEach
  void tearDown() {
    workload.close();
    host.close();
  }

  private <T> T inHost(Function<RouteNetlink, T> task) throws Exception {
    return host.run(
        () -> {
          try (RouteNetlink netlink = RouteNetlink.open()) {
            return task.apply(netlink);
          }
        });
  }

  @Test
  void shouldSeeBothEndsOfAVeth() throws Exception {
    final VethPair veth = VethPair.create(host, "h0", workload, "w0");
    final LinkMessage link = inHost(netlink -> netlink.link("h0")).orElseThrow();
    assertEquals(veth.hostIfindex(), link.index());
    assertEquals(MacAddress.parse(veth.hostMac()), link.mac());
    assertEquals(veth.workloadIfindex(), link.peerIndex());
    assertTrue(link.peerNamespaceId() >= 0, link.toString());
    assertTrue(link.isUp() && link.isRunning(), link.toString());
    assertEquals("veth", link.kind());
    assertEquals(Optional.of(link), inHost(netlink -> netlink.link(veth.hostIfindex())));
    workload.exec("ip", "link", "set", "w0", "down");
    LinkMessage without = inHost(netlink -> netlink.link("h0")).orElseThrow();
    for (int i = 0; i < 100 && without.isRunning(); i++) { // the kernel's work queue sets it
      Thread.sleep(20);
      without = inHost(netlink -> netlink.link("h0")).orElseThrow();
    }
    assertTrue(without.isUp() && !without.isRunning(), without.toString());
  }

  @Test
  void shouldReadTheLargestPacketsOfADevice() throws Exception {
    VethPair.create(host, "h0", workload, "w0");
    host.ip("link set h0 mtu 1380 gro_max_size 100000", "link set h0 gso_max_size 110000");
    final LinkSizes sizes =
        inHost(RouteNetlink::linkSizes).stream()
            .filter(link -> link.name().equals("h0"))
            .findFirst()
            .orElseThrow();
    assertEquals(new LinkSizes(sizes.index(), "h0", 1380, 100000, 110000, 65536, 65536), sizes);
  }

  @Test
  void shouldListHundredsOfDevicesWhileTheyComeAndGo() throws Exception {
    host.exec(
        "sh",
        "-c",
        "for i in $(seq 150); do echo link add stay$i type veth peer name peer$i; done"
            + " | ip -batch -");
    final Set<String> stay =
        IntStream.rangeClosed(1, 150)
            .boxed()
            .flatMap(i -> List.of("stay" + i, "peer" + i).stream())
            .collect(Collectors.toSet());
    final AtomicBoolean ends = new AtomicBoolean();
    final Thread others =
        host.start(
            "comes-and-goes",
            () -> {
              while (!ends.get()) {
                host.ip("link add go0 type veth peer name go1", "link delete go0");
              }
            });
    try {
      for (int i = 0; i < 100; i++) {
        final List<String> names =
            inHost(netlink -> netlink.links()).stream().map(LinkMessage::name).toList();
        assertEquals(names.size(), Set.copyOf(names).size(), "a device is listed twice");
        assertTrue(names.containsAll(stay), () -> names.size() + " devices");
      }
    } finally {
      ends.set(true);
      others.join(60_000);
    }
    final LinkMessage last = inHost(netlink -> netlink.link("peer150")).orElseThrow();
    assertEquals(Optional.of(last), inHost(netlink -> netlink.link(last.index())));
  }

  @Test
  void shouldFindNoDeviceThatIsGone() throws Exception {
    final VethPair veth = VethPair.create(host, "h0", workload, "w0");
    veth.delete();
    assertEquals(Optional.empty(), inHost(netlink -> netlink.link("h0")));
    assertEquals(Optional.empty(), inHost(netlink -> netlink.link(veth.hostIfindex())));
    assertEquals(Optional.empty(), inHost(netlink -> netlink.link(-1)));
    assertEquals(Optional.empty(), inHost(netlink -> netlink.link("n".repeat(16))));
    assertEquals(Optional.empty(), inHost(netlink -> netlink.link("n".repeat(300))));
    assertEquals(Optional.empty(), inHost(netlink -> netlink.link("")));
  }

  @Test
  void shouldFindNoRoutesInANamespaceWithoutAny() throws Exception {
    assertEquals(List.of(), inHost(netlink -> netlink.routes(true, 169)));
    assertEquals(List.of(), inHost(netlink -> netlink.routes(false, 169)));
  }

  /** The kernel filters: what it answers is not the whole table. */
  @Test
  void shouldReadTheRoutesOfOneDevice() throws Exception {
    final VethPair first = VethPair.create(host, "h0", workload, "w0");
    final VethPair second = VethPair.create(host, "h1", workload, "w1");
    host.ip(
        "route add 192.0.2.1/32 dev h0 proto 169",
        "route add 192.0.2.2/32 dev h1 proto 169",
        "route add 192.0.2.3/32 dev h1",
        "route add 2001:db8::1/128 dev h0 proto 169",
        "route add 2001:db8::2/128 dev h1 proto 169");
    for (final boolean ipv4 : List.of(true, false)) {
      for (final VethPair veth : List.of(first, second)) {
        final List<RouteMessage> routes =
            inHost(netlink -> netlink.routes(ipv4, 169, veth.hostIfindex()));
        assertEquals(1, routes.size(), routes.toString());
        final String own = ipv4 ? "192.0.2." : "2001:db8::";
        assertEquals(
            IpAddress.parse(own + (veth == first ? 1 : 2)),
            routes.getFirst().destination().address());
      }
      assertEquals(List.of(), inHost(netlink -> netlink.routes(ipv4, 169, 1_000_000)));
    }
  }

  @Test
  void shouldReadRoutesThatTheIpCommandAdded() throws Exception {
    final VethPair veth = VethPair.create(host, "h0", workload, "w0");
    host.ip(
        "address add 192.0.2.1/24 brd + dev h0",
        "address add 192.0.2.77 peer 192.0.2.78/31 dev h0",
        "address add 2001:db8::1/64 dev h0 nodad",
        "route add default via 192.0.2.9 metric 7",
        "route add 198.51.100.0/24 dev h0 table 77",
        "neigh add 192.0.2.9 dev h0 lladdr 02:00:00:00:00:09");
    final int index = veth.hostIfindex();
    final List<AddressMessage> addresses =
        inHost(netlink -> netlink.addresses()).stream()
            .filter(address -> address.deviceIndex() == index)
            .toList();
    assertEquals(3, addresses.size(), addresses.toString());
    assertEquals(
        new AddressMessage(
            IpAddress.parse("192.0.2.1"), 24, index, 0x80, IpAddress.parse("192.0.2.255")),
        addresses.get(0));
    assertEquals(IpAddress.parse("192.0.2.77"), addresses.get(1).address());
    assertEquals(32, addresses.get(1).prefixLength());
    assertEquals(IpAddress.parse("2001:db8::1"), addresses.get(2).address());
    assertEquals(
        List.of(
            new RouteMessage(
                Prefix.ALL_IPV4, index, IpAddress.parse("192.0.2.9"), null, 3, 254, 1, 7)),
        inHost(netlink -> netlink.routes(true, 3)));
    assertTrue(
        inHost(netlink -> netlink.neighbours())
            .contains(
                new NeighbourMessage(
                    IpAddress.parse("192.0.2.9"),
                    index,
                    MacAddress.parse("02:00:00:00:00:09"),
                    NeighbourMessage.STATE_PERMANENT,
                    0)));
  }

  @Test
  void shouldReadEventsAsAnswersAreRead() throws Exception {
    host.run(
        () -> {
          try (NetlinkSocket socket =
                  NetlinkSocket.subscribe(
                      NetlinkSocket.GROUP_LINK,
                      NetlinkSocket.GROUP_NEIGHBOUR,
                      NetlinkSocket.GROUP_IPV4_ADDRESS,
                      NetlinkSocket.GROUP_IPV4_ROUTE,
                      NetlinkSocket.GROUP_IPV6_ADDRESS,
                      NetlinkSocket.GROUP_IPV6_ROUTE);
              EventPoll poll = new EventPoll()) {
            poll.add(socket.fd());
            final VethPair veth = VethPair.create(host, "h0", workload, "w0");
            host.ip(
                "address add 192.0.2.1/24 dev h0",
                "address add 2001:db8::1/64 dev h0 nodad",
                "route add 10.1.0.9/32 dev h0 proto 169",
                "route add f00d::9/128 dev h0 proto 169",
                "neigh add 10.1.0.9 dev h0 lladdr " + veth.workloadMac());
            veth.delete();
            final List<Object> events = events(socket, poll, veth.hostIfindex());
            assertTrue(has(events, LinkMessage.class, "isUp=true"), events.toString());
            assertTrue(has(events, AddressMessage.class, "address=192.0.2.1,"), events.toString());
            assertTrue(has(events, AddressMessage.class, "2001:db8::1,"), events.toString());
            assertTrue(has(events, RouteMessage.class, "10.1.0.9/32,"), events.toString());
            assertTrue(has(events, RouteMessage.class, "f00d::9/128,"), events.toString());
            assertTrue(has(events, NeighbourMessage.class, "10.1.0.9,"), events.toString());
          }
          return null;
        });
  }

  private static boolean has(List<Object> events, Class<?> type, String part) {
    return events.stream().anyMatch(e -> type.isInstance(e) && e.toString().contains(part));
  }

  /** Returns every event up to the removal of the device. */
  private static List<Object> events(NetlinkSocket socket, EventPoll poll, int gone) {
    final List<Object> events = new ArrayList<>();
    while (true) {
      final int length = socket.receive();
      if (length == -Errno.EAGAIN) {
        assertTrue(poll.await(5000) > 0, () -> "no further event after " + events);
        continue;
      }
      assertTrue(length > 0, () -> Errno.name(length));
      final NetlinkMessageFlyweight message = socket.messages();
      while (message.next()) {
        LinkMessage.decode(message).ifPresent(events::add);
        AddressMessage.decode(message).ifPresent(events::add);
        RouteMessage.decode(message).ifPresent(events::add);
        NeighbourMessage.decode(message).ifPresent(events::add);
        if (message.type() == LinkMessage.RTM_DELLINK
            && LinkMessage.decode(message).filter(link -> link.index() == gone).isPresent()) {
          return events;
        }
      }
    }
  }
}
