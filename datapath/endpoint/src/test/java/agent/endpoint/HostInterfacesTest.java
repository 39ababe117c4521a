package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointSpec;
import agent.endpoint.build.HostInterfaces;
import agent.node.Devices.Device;
import agent.types.MacAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Which interface is set down before programs are detached, and which is left alone. */
class HostInterfacesTest {
  private static final int ID = 7;
  private static final int INDEX = 101;
  private static final MacAddress HOST_MAC = MacAddress.of(0x020000000000L + INDEX);

  private final FakeDatapath datapath = new FakeDatapath();
  private final FakeNode node = new FakeNode();
  private final ConductorAgent conductor = new ConductorAgent("ep-test", () -> 0);
  private final HostInterfaces hostInterfaces =
      new HostInterfaces(conductor, datapath, node.devices, node.routes);

  private List<String> setDown(boolean isAllowed) {
    final CompletableFuture<List<String>> answer = hostInterfaces.setDown(ID, device -> isAllowed);
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    return answer.getNow(null);
  }

  private void attach() {
    datapath.attach(
        new EndpointSpec(ID, INDEX, "lxc1", null, null, MacAddress.of(1), HOST_MAC, 256, 0, 0));
  }

  @Test
  void shouldSetDownTheVethThatTheDatapathKnows() {
    attach();
    node.hasDevice("lxc1", INDEX);
    assertEquals(List.of(), setDown(true));
    assertEquals(List.of("lxc1"), node.interfacesSetDown);
    node.routesFail = true;
    assertEquals(List.of("ip link set down: Operation not permitted"), setDown(true));
  }

  @Test
  void shouldLeaveEveryOtherInterfaceAlone() {
    node.hasDevice("lxc1", INDEX);
    assertEquals(List.of(), setDown(true), "the datapath does not know the endpoint");
    attach();
    assertEquals(List.of(), setDown(false));
    node.hasDevice("lxc1", INDEX, "bridge");
    assertEquals(List.of(), setDown(true));
    node.present.put("tun0", new Device("tun0", INDEX, null, 1500, true, "veth", true, -1));
    node.present.remove("lxc1");
    assertEquals(List.of(), setDown(true));
    node.present.clear();
    assertEquals(List.of(), setDown(true));
    assertEquals(List.of(), node.interfacesSetDown);
  }

  /** Without links the address decides: the kernel gives the index of a deleted device again. */
  @Test
  void shouldKnowTheInterfaceByItsAddressWhereItHasNoLinks() {
    attach();
    datapath.hasLinks = false;
    node.hasDeviceWithMac("new1", INDEX, "02:00:00:00:00:aa");
    assertEquals(List.of(), setDown(true));
    assertEquals(List.of(), node.interfacesSetDown);
    node.present.clear();
    node.hasDevice("lxc1", INDEX);
    assertEquals(List.of(), setDown(true));
    assertEquals(List.of("lxc1"), node.interfacesSetDown);
  }
}
