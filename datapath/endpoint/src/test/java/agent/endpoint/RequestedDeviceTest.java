package agent.endpoint;

import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.endpoint.request.AddressingRequest;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointNetworking;
import agent.endpoint.state.EndpointState;
import agent.ipam.AddressFamily;
import agent.node.Devices.Device;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What a request may leave out or contradict, and what it may not ask for. */
class RequestedDeviceTest {
  private static final String MAC1 = "02:00:00:00:01:01";
  private static final String MAC4 = "02:00:00:00:01:04";
  private static final String HOST_MAC1 = "02:00:00:00:00:65";
  private static final String HOST_MAC4 = "02:00:00:00:00:68";
  private static final String OTHER_MAC = "02:00:00:00:00:99";

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    hasPeer(101, MAC1);
    hasPeer(104, MAC4);
  }

  private void hasPeer(int index, String mac) {
    agent.node.peers.put(
        index, new Device("eth0", 7, MacAddress.parse(mac), 1500, true, "veth", true, 0));
  }

  private static Requests bare() {
    return Requests.request().state("").sync();
  }

  private void assertDevice(String name, int index, String mac, String hostMac) {
    final EndpointNetworking networking = agent.get("12").networking();
    assertEquals(name, networking.interfaceName());
    assertEquals(index, networking.interfaceIndex());
    assertEquals(mac, networking.mac().toString());
    assertEquals(hostMac, networking.hostMac().toString());
    assertEquals(mac, agent.datapath.attached.get(12).mac().toString());
    assertEquals(hostMac, agent.datapath.attached.get(12).hostMac().toString());
  }

  @Test
  void shouldFindTheRestOfTheDeviceByItsIndex() {
    agent.create("12", bare().index(101));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
  }

  @Test
  void shouldFindTheRestOfTheDeviceByItsName() {
    agent.create("12", bare().onInterface("lxc4"));
    assertDevice("lxc4", 104, MAC4, HOST_MAC4);
  }

  @Test
  void shouldTakeWhatAgreesWithTheDevice() {
    agent.create("12", bare().onInterface("lxc1").index(101).mac(MAC1).hostMac(HOST_MAC1));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
    agent.modify("12", bare().mac(MAC1).hostMac(HOST_MAC1));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
  }

  private void assertInvalid(String field, Requests created, Requests modified) {
    assertRefused(Refusal.Kind.INVALID, field, () -> agent.create("13", created));
    assertRefused(Refusal.Kind.INVALID, field, () -> agent.modify("12", modified));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals(1, agent.store.load().size());
    assertEquals(MAC1, agent.store.load().getFirst().device().mac().toString());
  }

  @Test
  void shouldRefuseAContradictionOfTheDevice() {
    agent.create("12", bare().index(101));
    assertInvalid("mac", bare().index(104).mac(OTHER_MAC), bare().mac(OTHER_MAC));
    assertInvalid("host-mac", bare().index(104).hostMac(OTHER_MAC), bare().hostMac(OTHER_MAC));
    assertInvalid(
        "mac", bare().index(104).mac(MAC1), bare().onInterface("lxc4").mac(MAC1)); // of lxc1
    assertInvalid(
        "host-mac", bare().index(104).hostMac(HOST_MAC1), bare().index(104).hostMac(HOST_MAC1));
    assertInvalid(
        "interface-index",
        bare().onInterface("lxc4").index(101),
        bare().onInterface("lxc4").index(101));
  }

  @Test
  void shouldReadBothAddressesAgainWhereItMoves() {
    agent.create("12", bare().index(101));
    agent.modify("12", bare().onInterface("lxc4"));
    assertDevice("lxc4", 104, MAC4, HOST_MAC4);
    agent.modify("12", bare().index(101));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
  }

  @Test
  void shouldReadBothAddressesAgainWhereItsInterfaceIsNamed() {
    agent.create("12", bare().index(101));
    hasPeer(101, OTHER_MAC);
    agent.modify("12", bare().containerName("x"));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
    agent.modify("12", bare().onInterface("lxc1"));
    assertDevice("lxc1", 101, OTHER_MAC, HOST_MAC1);
  }

  @Test
  void shouldNeedTheWorkloadsAddressWhereItsSideIsNotFound() {
    agent.node.peers.clear();
    assertRefused(Refusal.Kind.INVALID, "mac", () -> agent.create("12", bare().index(101)));
    agent.create("12", bare().index(101).mac(MAC1));
    assertDevice("lxc1", 101, MAC1, HOST_MAC1);
  }

  @Test
  void shouldHoldAddressesOfAGoneInterfaceAgainstTheRecord() {
    agent.create("12", bare().index(101));
    agent.node.present.remove("lxc1");
    assertRefused(
        Refusal.Kind.INVALID, "host-mac", () -> agent.modify("12", bare().hostMac(OTHER_MAC)));
    agent.modify("12", bare().hostMac(HOST_MAC1));
    assertEquals(MAC1, agent.get("12").networking().mac().toString());
  }

  @Test
  void shouldTakeTheStatesOfAClient() {
    for (final String state : List.of("", "ready", "creating", "waiting-for-identity")) {
      agent.create("12", bare().state(state).index(101));
      assertEquals(EndpointState.READY, agent.modify("12", bare().state(state)).state());
      agent.delete("12");
    }
    agent.create("12", bare().index(101));
    for (final EndpointState state : EndpointState.values()) {
      if (state != EndpointState.READY && state != EndpointState.WAITING_FOR_IDENTITY) {
        assertInvalid("state", bare().state(state.text()).index(104), bare().state(state.text()));
      }
    }
  }

  @Test
  void shouldRefuseByNameWhatHasNoEffect() {
    agent.create("12", bare().index(101));
    for (final boolean value : new boolean[] {false, true}) {
      assertInvalid(
          "policy-enabled", bare().index(104).policyEnabled(value), bare().policyEnabled(value));
      final var routing = new DatapathConfiguration(null, null, null, null, null, value);
      assertInvalid(
          "datapath-configuration.require-routing",
          bare().index(104).wired(routing),
          bare().wired(routing));
    }
    final var unprotected = new DatapathConfiguration(null, null, null, null, false, null);
    assertInvalid(
        "datapath-configuration.require-egress-prog",
        bare().index(104).wired(unprotected),
        bare().wired(unprotected));
    final var always = new DatapathConfiguration(null, null, null, null, true, null);
    assertEquals(
        true,
        agent.modify("12", bare().wired(always)).datapathConfiguration().requireEgressProgram());
  }

  private static AddressingRequest ipv4(String address, String timer) {
    return new AddressingRequest(address, timer, null, null, null, null);
  }

  private static AddressingRequest ipv6(String address, String timer) {
    return new AddressingRequest(null, null, null, address, timer, null);
  }

  @Test
  void shouldRefuseATimerWithoutALease() {
    final var external = new DatapathConfiguration(null, true, null, null, null, null);
    final String field4 = "addressing.ipv4-expiration-uuid";
    final String field6 = "addressing.ipv6-expiration-uuid";
    assertUnclaimed(field4, bare().index(101).addressing(ipv4("10.5.0.9", "nosuch")));
    assertUnclaimed(field6, bare().index(101).addressing(ipv6("f00d::5:0:9", "nosuch")));
    assertUnclaimed(field4, bare().index(101).addressing(ipv4(null, "nosuch")));
    assertUnclaimed(
        field4, bare().index(101).addressing(ipv4("172.30.0.9", "nosuch")).wired(external));
    agent.create("12", bare().index(101).addressing(ipv4("10.5.0.9", null)));
    assertRefused(
        Refusal.Kind.INVALID,
        field4,
        () -> agent.modify("12", bare().addressing(ipv4("10.5.0.9", "nosuch"))));
  }

  @Test
  void shouldSayWhatIsWrongWithAnAddressOrItsTimer() {
    agent.create("12", bare().index(101).addressing(ipv4("10.5.0.9", null)));
    assertMessage(
        "cannot be changed from 10.5.0.9",
        () -> agent.modify("12", bare().addressing(ipv4("10.5.0.10", null))));
    assertMessage(
        "cannot be added after creation",
        () -> agent.modify("12", bare().addressing(ipv6("f00d::5:0:9", null))));
    assertMessage(
        "'nosuch' is given without the address of its lease",
        () -> agent.create("13", bare().index(104).addressing(ipv4(null, "nosuch"))));
    assertMessage(
        "10.5.0.10 has no lease with expiration timer 'nosuch'",
        () -> agent.create("13", bare().index(104).addressing(ipv4("10.5.0.10", "nosuch"))));
  }

  private static void assertMessage(String reason, Executable call) {
    assertEquals(reason, assertThrows(Refusal.class, call).reason());
  }

  private void assertUnclaimed(String field, Requests request) {
    assertRefused(Refusal.Kind.INVALID, field, () -> agent.create("12", request));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.store.load());
  }

  @Test
  void shouldAdoptALeaseByItsTimer() {
    final var leased =
        agent.ipam.allocate(AddressFamily.IPV4, null, null, true).ipv4().orElseThrow();
    final String address = leased.address().toString();
    assertKept("addressing.ipv4", bare().index(101).addressing(ipv4(address, "nosuch")));
    agent.create("12", bare().index(101).addressing(ipv4(address, leased.expirationUuid())));
    assertEquals(12, agent.ipam.find(leased.address()).orElseThrow().endpointId());
    agent.modify("12", bare().addressing(ipv4(address, leased.expirationUuid())));
    assertEquals(leased.address(), agent.get("12").networking().addressing().ipv4());
  }

  private void assertKept(String field, Requests request) {
    assertRefused(Refusal.Kind.INVALID, field, () -> agent.create("12", request));
    assertEquals(0, agent.ipam.leases().getFirst().endpointId());
  }

  @Test
  void shouldKeepItsPoolAndItsAddresses() {
    agent.create("12", bare().index(101).addressing(ipv4("10.5.0.9", null)));
    final EndpointAddressing before = agent.get("12").networking().addressing();
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing.ipv4-pool-name",
        () ->
            agent.modify(
                "12",
                bare().addressing(new AddressingRequest(null, null, "other", null, null, null))));
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing.ipv6-pool-name",
        () ->
            agent.modify(
                "12",
                bare().addressing(new AddressingRequest(null, null, null, null, null, "other"))));
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing.ipv6-expiration-uuid",
        () -> agent.modify("12", bare().addressing(ipv6(null, "nosuch"))));
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing.ipv6",
        () -> agent.modify("12", bare().addressing(ipv6("f00d::5:0:9", null))));
    agent.modify(
        "12",
        bare().addressing(new AddressingRequest("10.5.0.9", null, "default", null, null, null)));
    assertEquals(before, agent.get("12").networking().addressing());
    assertEquals(IpAddress.parse("10.5.0.9"), before.ipv4());
  }
}
