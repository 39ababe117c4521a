package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests and answers on the wire, between the node and a workload. */
@KernelTest
class AddressProbesKernelTest {
  private static final String IPV4 = "10.9.0.7";
  private static final String IPV6 = "fd09::7";
  private static final String GATEWAY4 = "10.9.0.1";
  private static final String GATEWAY6 = "fd09::1";
  private static final String OTHER_MAC = "02:00:00:00:00:99";
  private static final Duration PATIENCE = Duration.ofMillis(500);

  private final List<String> answers = new ArrayList<>();
  private NetworkNamespace node;
  private Workload workload;

  @BeforeEach
  void setUp() {
    node = NetworkNamespace.create("probes");
    node.ip("address add " + GATEWAY4 + "/32 dev lo", "address add " + GATEWAY6 + "/128 dev lo");
    workload = Workload.create(node, "probed", IPV4, GATEWAY4, IPV6, GATEWAY6).routeFromNode();
  }

  @AfterEach
  void tearDown() {
    workload.close();
    node.close();
  }

  private static AddressProbes open() {
    return new RawAddressProbes(
        new NodeAddressing(
            FamilyAddressing.of(null, Prefix.parse("10.9.0.0/24")),
            FamilyAddressing.of(null, Prefix.parse("fd09::/96"))));
  }

  private boolean ask(AddressProbes probes, String mac, String address) {
    return probes.ask(
        workload.veth().hostIfindex(),
        MacAddress.parse(workload.veth().hostMac()),
        MacAddress.parse(mac),
        IpAddress.parse(address));
  }

  private void onAnswer(int deviceIndex, boolean isIpv4, long high, long low) {
    answers.add(
        deviceIndex + " " + (isIpv4 ? IpAddress.ofIpv4((int) low) : IpAddress.ofIpv6(high, low)));
  }

  private String from(String address) {
    return workload.veth().hostIfindex() + " " + address;
  }

  /** Receives until so many answers are there; fewer only where no more arrive. */
  private List<String> answers(AddressProbes probes, int count) {
    final long deadlineNs = System.nanoTime() + PATIENCE.toNanos();
    while (answers.size() < count && System.nanoTime() < deadlineNs) {
      probes.receive(this::onAnswer, 16);
      LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
    }
    return answers;
  }

  @Test
  void shouldReceiveTheAnswersOfTheWorkload() throws Exception {
    node.run(
        () -> {
          try (AddressProbes probes = open()) {
            assertTrue(ask(probes, workload.veth().workloadMac(), IPV4));
            assertEquals(List.of(from(IPV4)), answers(probes, 1));
            assertTrue(ask(probes, workload.veth().workloadMac(), IPV6));
            assertEquals(List.of(from(IPV4), from(IPV6)), answers(probes, 2));
          }
          return null;
        });
  }

  @Test
  void shouldReceiveNoAnswerForAnAddressOrAMacThatTheWorkloadDoesNotHave() throws Exception {
    node.run(
        () -> {
          try (AddressProbes probes = open()) {
            assertTrue(ask(probes, workload.veth().workloadMac(), "10.9.0.8"));
            assertTrue(ask(probes, workload.veth().workloadMac(), "fd09::8"));
            assertTrue(ask(probes, OTHER_MAC, IPV4));
            assertTrue(ask(probes, OTHER_MAC, IPV6));
            assertEquals(List.of(), answers(probes, 1));
          }
          return null;
        });
  }

  /** Only what answers the gateway counts: other ARP replies on the node are not read. */
  @Test
  void shouldNotReadArpOfOthers() throws Exception {
    node.run(
        () -> {
          try (AddressProbes probes = open()) {
            node.ip(
                "address add 10.9.1.1/32 dev lo",
                "neigh flush dev " + workload.veth().hostInterface() + " nud all");
            node.attempt("ping", "-c1", "-W1", "-I", "10.9.1.1", IPV4);
            assertTrue(ask(probes, workload.veth().workloadMac(), IPV4));
            assertEquals(List.of(from(IPV4)), answers(probes, 2));
          }
          return null;
        });
  }

  @Test
  void shouldSayThatNothingIsSentByAnInterfaceThatIsGone() throws Exception {
    node.run(
        () -> {
          try (AddressProbes probes = open()) {
            workload.veth().delete();
            assertFalse(ask(probes, workload.veth().workloadMac(), IPV4));
            assertFalse(ask(probes, workload.veth().workloadMac(), IPV6));
          }
          return null;
        });
  }

  @Test
  void shouldNotAskForAFamilyThatIsDisabled() throws Exception {
    node.run(
        () -> {
          final FamilyAddressing ipv4 = FamilyAddressing.of(null, Prefix.parse("10.9.0.0/24"));
          try (AddressProbes probes =
              new RawAddressProbes(new NodeAddressing(ipv4, FamilyAddressing.DISABLED))) {
            assertFalse(ask(probes, workload.veth().workloadMac(), IPV6));
            assertTrue(ask(probes, workload.veth().workloadMac(), IPV4));
            assertEquals(List.of(from(IPV4)), answers(probes, 1));
          }
          final FamilyAddressing ipv6 = FamilyAddressing.of(null, Prefix.parse("fd09::/96"));
          try (AddressProbes probes =
              new RawAddressProbes(new NodeAddressing(FamilyAddressing.DISABLED, ipv6))) {
            assertFalse(ask(probes, workload.veth().workloadMac(), IPV4));
            assertTrue(ask(probes, workload.veth().workloadMac(), IPV6));
            assertEquals(List.of(from(IPV4), from(IPV6)), answers(probes, 2));
          }
          return null;
        });
  }

  @Test
  void shouldAllocateNothing() throws Exception {
    node.run(
        () -> {
          final long[] count = new long[1];
          final AddressProbes.Handler handler = (device, isIpv4, high, low) -> count[0]++;
          final MacAddress host = MacAddress.parse(workload.veth().hostMac());
          final MacAddress mac = MacAddress.parse(workload.veth().workloadMac());
          final IpAddress ipv4 = IpAddress.parse(IPV4);
          final IpAddress ipv6 = IpAddress.parse(IPV6);
          final int device = workload.veth().hostIfindex();
          try (AddressProbes probes = open()) {
            assertEquals(
                0,
                HeapAllocation.steady(
                    200,
                    () -> {
                      probes.ask(device, host, mac, ipv4);
                      probes.ask(device, host, mac, ipv6);
                      probes.receive(handler, 16);
                    }));
          }
          assertTrue(count[0] > 0);
          return null;
        });
  }
}
