package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.Devices.Device;
import agent.node.WorkloadRoutes.RouteRepair;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class NetlinkNodeEventsKernelTest {
  private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(10);
  private static final int ENOUGH = 100_000;

  private NetworkNamespace host;
  private Node node;
  private NodeEvents events;

  /** The events as text, in their order. */
  private static final class Recorder implements NodeEvents.Handler {
    private final List<String> seen = new ArrayList<>();

    @Override
    public void onDevice(Device device) {
      seen.add(
          "%s %d up=%b carrier=%b"
              .formatted(device.name(), device.index(), device.up(), device.hasCarrier()));
    }

    @Override
    public void onDeviceRemoved(int index, String name) {
      seen.add("removed " + name + " " + index);
    }

    @Override
    public void onAddress() {
      seen.add("address");
    }

    @Override
    public void onRoute(IpAddress destination, int deviceIndex, boolean isOwnAdded) {
      seen.add("route " + destination + " " + deviceIndex + (isOwnAdded ? " own" : ""));
    }

    @Override
    public void onLocalRoute(Prefix destination, boolean isAdded) {
      seen.add("here " + destination + (isAdded ? "" : " removed"));
    }

    @Override
    public void onParameter() {
      seen.add("parameter");
    }

    @Override
    public void onLost() {
      seen.add("lost");
    }
  }

  @BeforeEach
  void setUp() throws Exception {
    host = NetworkNamespace.create("nodehost");
    node = host.run(() -> Node.open(NodeOptions.DEFAULTS, 0, NodeStore.inMemory()));
    events = host.run(node::events);
  }

  @AfterEach
  void tearDown() {
    events.close();
    host.close();
  }

  private List<String> seen() {
    final Recorder recorder = new Recorder();
    events.poll(recorder, ENOUGH);
    return recorder.seen;
  }

  /**
   * Some events come later than the command that causes them, such as those of the carrier and of
   * IPv6 addresses. Returns all that came meanwhile.
   */
  private List<String> assertSeen(String... wanted) {
    final List<String> seen = new ArrayList<>();
    final long endNs = System.nanoTime() + DEADLINE_NS;
    do {
      seen.addAll(seen());
    } while (!seen.containsAll(List.of(wanted)) && System.nanoTime() < endNs);
    assertTrue(seen.containsAll(List.of(wanted)), seen.toString());
    return seen;
  }

  private <T> T inHost(Callable<T> work) throws Exception {
    return host.run(work);
  }

  @Test
  void shouldFollowTheLocalRoutingTable() {
    host.ip("route add local 203.0.113.0/24 dev lo");
    host.ip("-6 route add local 2001:db8:5::/64 dev lo");
    assertSeen("here 203.0.113.0/24", "here 2001:db8:5::/64");
    host.ip("route del local 203.0.113.0/24 dev lo");
    assertSeen("here 203.0.113.0/24 removed");
    host.ip("link add first0 type veth peer name peer0");
    host.ip("link set first0 up");
    host.ip("link set peer0 up");
    host.ip("address add 192.0.2.9/24 dev first0");
    host.ip("-6 address add 2001:db8:7::9/64 nodad dev first0");
    // the address, the broadcast address and the subnet-router anycast address
    final List<String> seen =
        assertSeen(
            "here 192.0.2.9/32",
            "here 192.0.2.255/32",
            "here 2001:db8:7::9/128",
            "here 2001:db8:7::/128");
    assertTrue(seen.stream().noneMatch(event -> event.contains("fe80:")), seen.toString());
    host.ip("route add 198.51.100.0/24 dev first0");
    host.ip("route add local 198.51.100.0/24 dev lo table 77");
    host.ip("route add multicast 239.1.0.0/16 dev lo table local");
    assertTrue(seen().stream().noneMatch(event -> event.startsWith("here")));
  }

  @Test
  void shouldFollowDevices() {
    host.ip("link add first0 index 50 type veth peer name peer0");
    assertSeen("first0 50 up=false carrier=false");
    host.ip("link set first0 up");
    host.ip("link set peer0 up");
    assertSeen("first0 50 up=true carrier=true");
    host.ip("link set peer0 down");
    assertSeen("first0 50 up=true carrier=false");
    host.ip("link set first0 down");
    host.ip("link set first0 name other0");
    assertSeen("other0 50 up=false carrier=false");
    host.ip("link delete other0");
    assertSeen("removed other0 50");
    assertEquals(List.of(), seen());
  }

  @Test
  void shouldReportADeviceThatMovesToAnotherNamespaceAsRemoved() {
    host.ip("link add first0 index 50 type veth peer name peer0");
    seen();
    try (NetworkNamespace other = NetworkNamespace.create("other")) {
      host.ip("link set first0 netns " + other.path());
      assertSeen("removed first0 50");
    }
  }

  @Test
  void shouldFollowAddressesAndParametersAndRoutesToSingleAddresses() throws Exception {
    host.ip("address add 192.0.2.1/24 dev lo");
    assertSeen("address");
    host.ip("route add 198.51.100.0/24 dev lo");
    host.ip("route add 198.51.100.7/32 dev lo table 100");
    assertEquals(List.of(), seen());
    host.ip("route add 198.51.100.7/32 dev lo");
    assertEquals(List.of("route 198.51.100.7 1"), seen());
    host.ip("route replace 198.51.100.7/32 dev lo proto 169 scope link");
    assertEquals(List.of("route 198.51.100.7 1 own"), seen());
    host.ip("-6 route add 2001:db8::7/128 dev lo");
    host.ip("-6 route del 2001:db8::7/128 dev lo");
    assertEquals(Collections.nCopies(2, "route 2001:db8::7 1"), seen());
    inHost(() -> Files.writeString(Path.of("/proc/sys/net/ipv4/ip_forward"), "0"));
    assertSeen("parameter");
    inHost(() -> Files.writeString(Path.of("/proc/sys/net/ipv6/conf/all/forwarding"), "0"));
    assertSeen("parameter");
    assertEquals(
        List.of(
            "net.ipv4.ip_forward was 0 and was set to 1",
            "net.ipv6.conf.all.forwarding was 0 and was set to 1"),
        inHost(() -> node.forwarding().keep()));
    assertEquals(List.of(), inHost(() -> node.forwarding().keep()));
  }

  @Test
  void shouldReportThatEventsWereLost() throws IOException {
    final StringBuilder batch = new StringBuilder();
    for (int i = 0; i < 30_000; i++) {
      batch.append(
          "route add 10.%d.%d.%d/32 dev lo%n".formatted(100 + i / 60_000, i / 250, i % 250));
    }
    final Path file = Files.createTempFile("routes", ".batch");
    try {
      Files.writeString(file, batch);
      host.exec("ip", "-batch", file.toString());
      assertTrue(seen().contains("lost"));
    } finally {
      Files.delete(file);
    }
    seen();
    host.ip("link add first0 type veth peer name peer0");
    assertTrue(seen().stream().anyMatch(event -> event.startsWith("first0 ")));
  }

  @Test
  void shouldAllocateNothingWhileThereAreNoEvents() {
    final Recorder recorder = new Recorder();
    assertEquals(0, HeapAllocation.steady(10_000, () -> events.poll(recorder, 32)));
  }

  @Test
  void shouldPassABoundedNumberOfEvents() {
    for (int i = 0; i < 10; i++) {
      host.ip("route add 198.51.100." + i + "/32 dev lo");
    }
    final Recorder recorder = new Recorder();
    int polls = 0;
    for (int before = 0; recorder.seen.size() < 10; before = recorder.seen.size(), polls++) {
      assertTrue(events.poll(recorder, 4) <= 4);
      assertTrue(recorder.seen.size() - before <= 4, recorder.seen.toString());
      assertTrue(polls < 100, recorder.seen.toString());
    }
    assertTrue(polls >= 3, "at most four events a poll");
    assertEquals(10, recorder.seen.stream().filter(event -> event.startsWith("route")).count());
  }

  @Test
  void shouldFindTheOtherEndOfAVeth() throws Exception {
    try (NetworkNamespace workload = NetworkNamespace.create("nodework")) {
      final VethPair veth = VethPair.create(host, "lxcnode", workload, "eth0");
      final Device peer = inHost(() -> node.devices().peerOf(veth.hostIfindex())).orElseThrow();
      assertEquals("eth0", peer.name());
      assertEquals(MacAddress.parse(veth.workloadMac()), peer.mac());
      assertTrue(peer.up());
      final Device device = inHost(() -> node.devices().byName("lxcnode")).orElseThrow();
      assertTrue(device.peerNamespaceId() >= 0);
      host.ip("link add here0 type veth peer name there0");
      final Device here = inHost(() -> node.devices().byName("here0")).orElseThrow();
      assertEquals(-1, here.peerNamespaceId());
      assertEquals(
          "there0", inHost(() -> node.devices().peerOf(here.index())).orElseThrow().name());
    }
    assertTrue(inHost(() -> node.devices().peerOf(99_999)).isEmpty());
  }

  @Test
  void shouldRepairOnlyTheRoutesOfTheGivenWorkloads() throws Exception {
    try (NetworkNamespace workload = NetworkNamespace.create("nodework")) {
      final VethPair veth = VethPair.create(host, "lxcnode", workload, "eth0");
      final MacAddress mac = MacAddress.parse(veth.workloadMac());
      final WorkloadRoute one =
          new WorkloadRoute(
              "lxcnode", mac, IpAddress.parse("10.1.0.9"), IpAddress.parse("f00d::a01:1:0:9"));
      final WorkloadRoute other =
          new WorkloadRoute("lxcnode", mac, IpAddress.parse("10.1.0.10"), null);
      inHost(
          () -> {
            node.routes().add(one);
            node.routes().add(other);
            return null;
          });
      final String before = routes();
      assertEquals(List.of(), inHost(() -> node.routes().repair(List.of(one, other))));
      host.ip("route del 10.1.0.9/32");
      host.ip("-6 neigh del f00d::a01:1:0:9 dev lxcnode");
      host.ip("route del 10.1.0.10/32");
      final List<RouteRepair> repairs = inHost(() -> node.routes().repair(List.of(one)));
      assertEquals(
          List.of(
              new RouteRepair(
                  one,
                  2,
                  "10.1.0.9/32 was missing,"
                      + " neighbour f00d::a01:1:0:9 was missing or different",
                  "")),
          repairs);
      inHost(() -> node.routes().repair(List.of(other)));
      assertEquals(before, routes());
      assertEquals(List.of(), inHost(() -> node.routes().withdraw(one)));
      assertTrue(inHost(() -> node.devices().byName("lxcnode")).orElseThrow().up());
      final String left = host.exec("ip", "route", "show");
      assertTrue(!left.contains("10.1.0.9 ") && left.contains("10.1.0.10 "), left);
    }
  }

  private String routes() {
    return host.exec("ip", "route", "show", "proto", "169")
        + host.exec("ip", "-6", "route", "show", "proto", "169")
        + host.exec("ip", "-o", "neigh", "show", "proto", "169");
  }
}
