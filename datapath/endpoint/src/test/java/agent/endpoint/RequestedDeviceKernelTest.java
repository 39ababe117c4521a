package agent.endpoint;

import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointNetworking;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.Refusal;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests that leave out or contradict what the kernel says of a veth. */
@KernelTest
class RequestedDeviceKernelTest {
  private static final String OTHER_MAC = "02:00:00:00:00:99";
  private static final int PATIENCE_MS = 2000;

  private KernelRig agent;
  private Workload web;

  @BeforeEach
  void setUp() throws Exception {
    agent = new KernelRig();
    web = agent.workload(11);
  }

  @AfterEach
  void tearDown() throws IOException {
    agent.close();
  }

  /** Only {@code state}, and what no agent can guess: the interface. */
  private static Requests bare() {
    return Requests.request().state("creating").sync();
  }

  private Requests addressed() {
    return bare().ipv4(web.ipv4()).ipv6(web.ipv6());
  }

  private void assertDevice(VethPair veth) {
    final EndpointNetworking networking = agent.get("11").networking();
    assertEquals(veth.hostInterface(), networking.interfaceName());
    assertEquals(veth.hostIfindex(), networking.interfaceIndex());
    assertEquals(veth.hostMac(), networking.hostMac().toString());
    assertEquals(veth.workloadMac(), networking.mac().toString());
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv4(), PATIENCE_MS));
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv6(), PATIENCE_MS));
  }

  @Test
  void shouldFindHardwareAddressesAndTheNameByTheIndex() {
    agent.create("11", addressed().index(web.veth().hostIfindex()));
    assertDevice(web.veth());
  }

  @Test
  void shouldFindHardwareAddressesAndTheIndexByTheName() {
    agent.create("11", addressed().onInterface(web.veth().hostInterface()));
    assertDevice(web.veth());
  }

  /** A wrong address of the host side cut the workload off, with health OK. */
  @Test
  void shouldRefuseHardwareAddressesThatAreNotThoseOfTheVeth() {
    final Requests named = addressed().onInterface(web.veth().hostInterface());
    assertRefused(
        Refusal.Kind.INVALID, "host-mac", () -> agent.create("11", named.hostMac(OTHER_MAC)));
    assertRefused(
        Refusal.Kind.INVALID,
        "mac",
        () -> agent.create("11", named.hostMac(web.veth().hostMac()).mac(OTHER_MAC)));
    agent.create("11", addressed().onInterface(web.veth().hostInterface()));
    assertRefused(
        Refusal.Kind.INVALID, "host-mac", () -> agent.modify("11", bare().hostMac(OTHER_MAC)));
    assertRefused(Refusal.Kind.INVALID, "mac", () -> agent.modify("11", bare().mac(OTHER_MAC)));
    assertDevice(web.veth());
  }

  @Test
  void shouldReadBothHardwareAddressesAgainOnAnotherInterface() {
    agent.create("11", addressed().onInterface(web.veth().hostInterface()));
    final Workload moved = agent.workload(21);
    web.namespace().ip("address flush dev eth0");
    moved
        .namespace()
        .ip(
            "address add " + web.ipv4() + "/32 dev eth0",
            "address add " + web.ipv6() + "/128 dev eth0 nodad");
    agent.modify("11", bare().onInterface(moved.veth().hostInterface()));
    assertDevice(moved.veth());
  }

  @Test
  void shouldTakeAChangedHardwareAddressOfTheWorkload() {
    agent.create("11", addressed().onInterface(web.veth().hostInterface()));
    web.namespace().ip("link set eth0 address " + OTHER_MAC);
    agent.modify("11", bare().mac(OTHER_MAC));
    assertEquals(OTHER_MAC, agent.get("11").networking().mac().toString());
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv4(), PATIENCE_MS));
  }
}
