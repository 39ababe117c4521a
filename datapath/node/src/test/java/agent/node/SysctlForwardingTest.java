package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The parameters that are kept, on files in place of those of the kernel. */
class SysctlForwardingTest {
  private static final FamilyAddressing IPV4 =
      FamilyAddressing.of(IpAddress.parse("192.0.2.1"), Prefix.parse("10.5.0.0/16"));
  private static final FamilyAddressing IPV6 =
      FamilyAddressing.of(null, Prefix.parse("f00d::5:0:0/96"));

  @TempDir private Path root;

  private Sysctls sysctls;

  @BeforeEach
  void setUp() throws IOException {
    sysctls = new Sysctls(root);
    has("ipv4/ip_forward", "0\n");
    has("ipv6/conf/all/forwarding", "0\n");
    for (final String device : List.of("all", "default", "eth0", "eth1", "veth.7")) {
      has("ipv6/conf/" + device + "/accept_ra", "1\n");
    }
    has("ipv6/conf/eth1/accept_ra", "0\n");
  }

  private void has(String name, String value) throws IOException {
    final Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, value);
  }

  private Forwarding forwarding(FamilyAddressing ipv4, FamilyAddressing ipv6) {
    return new SysctlForwarding(sysctls, new NodeAddressing(ipv4, ipv6), 0);
  }

  @Test
  void shouldTurnForwardingOnAndSayWhatItChanged() {
    final Forwarding forwarding = forwarding(IPV4, IPV6);
    assertEquals(
        List.of(
            "net.ipv4.ip_forward was 0 and was set to 1",
            "net.ipv6.conf.all.forwarding was 0 and was set to 1"),
        forwarding.keep());
    assertEquals("1", sysctls.get("ipv4", "ip_forward"));
    assertEquals("1", sysctls.get("ipv6", "conf", "all", "forwarding"));
    assertEquals(List.of(), forwarding.keep());
  }

  @Test
  void shouldLeaveAFamilyAloneThatIsDisabled() {
    assertEquals(
        List.of(), forwarding(FamilyAddressing.DISABLED, FamilyAddressing.DISABLED).keep());
    assertEquals("0", sysctls.get("ipv4", "ip_forward"));
    assertEquals("0", sysctls.get("ipv6", "conf", "all", "forwarding"));
    assertEquals("1", sysctls.get("ipv6", "conf", "eth0", "accept_ra"));
    assertEquals(1, forwarding(FamilyAddressing.DISABLED, IPV6).keep().size());
    assertEquals("0", sysctls.get("ipv4", "ip_forward"));
  }

  /** Devices that accepted router advertisements still do once the node forwards. */
  @Test
  void shouldKeepAcceptingRouterAdvertisements() {
    forwarding(IPV4, IPV6).keep();
    assertEquals("2", sysctls.get("ipv6", "conf", "eth0", "accept_ra"));
    assertEquals("2", sysctls.get("ipv6", "conf", "veth.7", "accept_ra"));
    assertEquals("0", sysctls.get("ipv6", "conf", "eth1", "accept_ra"));
    assertEquals("1", sysctls.get("ipv6", "conf", "all", "accept_ra"));
    assertEquals("1", sysctls.get("ipv6", "conf", "default", "accept_ra"));
  }

  /** Another tool sets back what was set, and a device goes. */
  @Test
  void shouldAcceptRouterAdvertisementsAgain() throws IOException {
    final Forwarding forwarding = forwarding(IPV4, IPV6);
    forwarding.keep();
    has("ipv6/conf/eth0/accept_ra", "1\n");
    has("ipv6/conf/eth1/accept_ra", "1\n"); // which was not set
    Files.delete(root.resolve("ipv6/conf/veth.7/accept_ra"));
    Files.delete(root.resolve("ipv6/conf/veth.7"));
    assertEquals(List.of("net.ipv6.conf.eth0.accept_ra was 1 and was set to 2"), forwarding.keep());
    assertEquals("1", sysctls.get("ipv6", "conf", "eth1", "accept_ra"));
    has("ipv6/conf/eth0/accept_ra", "0\n"); // another choice
    assertEquals(List.of(), forwarding.keep());
  }

  @Test
  void shouldForwardWhatADeviceOfTheNetworkReceives() throws IOException {
    has("ipv4/conf/eth0/forwarding", "0\n");
    assertEquals(List.of(), forwarding(FamilyAddressing.DISABLED, IPV6).keepDevice("eth0"));
    assertEquals(
        List.of("net.ipv4.conf.eth0.forwarding was 0 and was set to 1"),
        forwarding(IPV4, IPV6).keepDevice("eth0"));
  }

  @Test
  void shouldNotTouchRouterAdvertisementsOnceTheNodeForwards() throws IOException {
    has("ipv6/conf/all/forwarding", "1\n");
    assertEquals(List.of(), forwarding(FamilyAddressing.DISABLED, IPV6).keep());
    assertEquals("1", sysctls.get("ipv6", "conf", "eth0", "accept_ra"));
  }

  @Test
  void shouldForwardOnTheHostSideAndAcceptPacketsOfEverySource() throws IOException {
    has("ipv4/conf/veth.7/forwarding", "0\n");
    has("ipv4/conf/veth.7/rp_filter", "2\n");
    final Forwarding forwarding = forwarding(IPV4, IPV6);
    assertEquals(
        List.of(
            "net.ipv4.conf.veth.7.forwarding was 0 and was set to 1",
            "net.ipv4.conf.veth.7.rp_filter was 2 and was set to 0"),
        forwarding.keep("veth.7"));
    assertEquals("1", sysctls.get("ipv4", "conf", "veth.7", "forwarding"));
    assertEquals("0", sysctls.get("ipv4", "conf", "veth.7", "rp_filter"));
    assertEquals(List.of(), forwarding.keep("veth.7"));
  }

  /** The kernel would refuse or repeat a write that changes nothing. */
  @Test
  void shouldNotWriteAValueThatIsThere() throws IOException {
    has("ipv4/ip_forward", "1\n");
    sysctls.restore("1", "ipv4", "ip_forward");
    assertEquals("1\n", Files.readString(root.resolve("ipv4/ip_forward")));
    sysctls.restore("0", "ipv4", "ip_forward");
    assertEquals("0", Files.readString(root.resolve("ipv4/ip_forward")));
  }

  @Test
  void shouldListTheNamesInOrder() {
    assertEquals(List.of("all", "default", "eth0", "eth1", "veth.7"), sysctls.list("ipv6", "conf"));
  }

  @Test
  void shouldNameTheParameterThatCannotBeUsed() {
    assertFailed("net.ipv4.nosuch cannot be read", () -> sysctls.get("ipv4", "nosuch"));
    assertFailed(
        "net.ipv4.nosuch cannot be set to 1", () -> sysctls.restore("1", "ipv4", "nosuch"));
    assertFailed("net.nosuch cannot be listed", () -> sysctls.list("nosuch"));
    assertFailed(
        "net.ipv4.conf.lxc1.forwarding cannot be set to 1",
        () -> forwarding(IPV4, IPV6).keep("lxc1"));
  }

  private static void assertFailed(String message, Runnable call) {
    final OperationException failure = assertThrows(OperationException.class, call::run);
    assertTrue(failure.getMessage().startsWith(message + ": "), failure.getMessage());
  }

  @Test
  void shouldHaveNoParametersToKeepInTestsWithoutAKernel() {
    assertEquals(List.of(), Forwarding.NONE.keep());
    assertEquals(List.of(), Forwarding.NONE.keep("lxc1"));
    assertEquals(-1, NodeEvents.NONE.descriptor());
    assertEquals(0, NodeEvents.NONE.poll(null, 1));
  }
}
