package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.RedirectedFlow;
import agent.testkit.KernelTest;
import agent.testkit.SpecialAddresses;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which servers a proxy may connect to, whatever the programs have let through. */
@KernelTest
class JudgedServersKernelTest {
  private static final int HOST = 1;
  private static final int WORLD = 2;
  private static final int WORKLOAD = 4711;
  private static final int ENDPOINT = 7;
  private static final String[] UNKNOWN = {"198.51.100.9", "2001:db8:9::9"};
  private static final String[] LOCAL = {"198.51.100.77", "2001:db8:77::77"};

  private final Map<Prefix, IpcacheEntry> entries = new HashMap<>();
  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void start() {
    node = new ManagerTestNode();
    node.namespace()
        .ip(
            "link set lo up",
            "link add net0 type veth peer name net1",
            "link set net1 up",
            "link set net0 up",
            "address add 192.0.2.1/24 dev net0",
            "address add 2001:db8:2::1/64 dev net0 nodad",
            "route add default via 192.0.2.2",
            "route add default via 2001:db8:2::2",
            "route add local " + LOCAL[0] + " dev lo",
            "route add local " + LOCAL[1] + " dev lo");
    manager = node.launch(node.context());
  }

  @AfterEach
  void stop() throws Exception {
    manager.close();
    node.close();
  }

  private Optional<String> refusal(String server, int identity, int endpoint) {
    final IpAddress address = IpAddress.parse(server);
    final IpAddress client = IpAddress.parse(address.isIpv4() ? "10.77.0.2" : "fd77::2");
    final RedirectedFlow flow =
        new RedirectedFlow(6, client, 40_000, WORKLOAD, 2, address, 80, identity, endpoint);
    return node.namespace().call(() -> manager.redirects().refusal(flow));
  }

  private void put(String address, int identity, int endpoint, boolean isHost) {
    final IpAddress ip = IpAddress.parse(address);
    final Prefix prefix = Prefix.of(ip, ip.bitLength());
    final IpcacheEntry entry = new IpcacheEntry(prefix, identity, endpoint, isHost);
    await(manager.ipcache().apply(List.of(new IpcacheChange(entries.put(prefix, entry), entry))));
  }

  @Test
  void shouldRefuseWhatNoHostHasWhateverItsIdentity() {
    for (final boolean ipv6 : new boolean[] {false, true}) {
      SpecialAddresses.invalid(ipv6)
          .forEach(
              address -> {
                assertTrue(refusal(address, WORLD, 0).isPresent(), address);
                assertTrue(refusal(address, HOST, 0).isPresent(), address);
              });
    }
  }

  @Test
  void shouldRefuseAnAddressOfTheNodeThatWasJudgedAsTheWorld() {
    for (final String address : LOCAL) {
      assertEquals(Optional.empty(), refusal(address, HOST, 0));
      assertEquals(
          Optional.of(address + " is delivered to this node, but was judged as 2"),
          refusal(address, WORLD, 0));
    }
    assertTrue(refusal("192.0.2.255", WORLD, 0).isPresent(), "the broadcast of a link");
    for (final String address : UNKNOWN) {
      assertEquals(Optional.empty(), refusal(address, WORLD, 0));
    }
  }

  @Test
  void shouldRefuseAnAddressThatBelongsToAnotherByNow() {
    for (final String address : UNKNOWN) {
      put(address, WORKLOAD, ENDPOINT, false);
      assertTrue(refusal(address, WORLD, 0).isPresent(), "a workload got it");
      assertTrue(refusal(address, WORKLOAD, ENDPOINT + 1).isPresent(), "another has it");
      assertEquals(Optional.empty(), refusal(address, WORKLOAD, ENDPOINT));
      put(address, HOST, 0, true);
      assertTrue(refusal(address, WORLD, 0).isPresent(), "the node got it");
      assertEquals(Optional.empty(), refusal(address, HOST, 0));
    }
  }
}
