package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.RedirectKind;
import agent.maps.layout.RedirectSocketFlyweight;
import agent.maps.layout.RedirectSocketKeyFlyweight;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the maps of redirects hold while proxies serve, and after a restart of the agent. */
@KernelTest
class RedirectsKernelTest {
  private static final int TCP = 6;
  private static final int PORT = 40_100;

  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void start() {
    node = new ManagerTestNode();
    manager = node.launch(node.context());
  }

  @AfterEach
  void stop() throws Exception {
    manager.close();
    node.close();
  }

  private void restart() {
    manager.close();
    manager = node.launch(node.context());
  }

  private static RedirectedFlow flow(String client, String server) {
    return new RedirectedFlow(
        TCP, IpAddress.parse(client), 41_000, 1, 2, IpAddress.parse(server), 443, 3, 4);
  }

  private int firstPort(RedirectKind kind) {
    final BpfMap map = manager.maps().find("redirect_proxies").orElseThrow();
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, kind.number());
    assertEquals(0, map.lookup(entry));
    return entry.value().getInt(0);
  }

  /** Returns the flow of a socket, or null. */
  private RedirectSocketFlyweight socket(int family) {
    final BpfMap map = manager.maps().find("redirect_sockets").orElseThrow();
    final EntryBuffer entry = new EntryBuffer(map);
    new RedirectSocketKeyFlyweight().wrap(entry.key(), 0).port(PORT).protocol(TCP).family(family);
    return map.lookup(entry) == 0 ? new RedirectSocketFlyweight().wrap(entry.value(), 0) : null;
  }

  @Test
  void shouldHaveTheFlowOfASocketUntilItLeaves() {
    final RedirectedFlow flow4 = flow("10.77.0.2", "198.51.100.9");
    final RedirectedFlow flow6 = flow("fd77::2", "2001:db8:9::9");
    await(manager.redirects().join(flow6, PORT));
    await(manager.redirects().join(flow4, PORT));
    assertEquals(0x0a4d0002_00000000L, socket(4).clientHigh());
    assertEquals(0, socket(4).clientLow());
    assertEquals(0xc6336409_00000000L, socket(4).serverHigh());
    assertEquals(41_000, socket(4).clientPort());
    assertEquals(443, socket(4).serverPort());
    assertEquals(0xfd77_0000_0000_0000L, socket(6).clientHigh());
    assertEquals(2, socket(6).clientLow());
    assertEquals(9, socket(6).serverLow());
    manager.redirects().leave(flow4, PORT);
    await(manager.redirects().join(flow6, PORT)); // it follows
    assertNull(socket(4));
    assertEquals(2, socket(6).clientLow());
  }

  /** The proxies of a former run do not listen, and its sockets are gone. */
  @Test
  void shouldRememberThePortsOfAFormerRunAndSendNothingThere() {
    assertEquals(0, manager.redirects().previousPort(RedirectKind.HTTP));
    await(manager.redirects().serve(RedirectKind.HTTP, 10_000));
    await(manager.redirects().serve(RedirectKind.DNS, 10_100));
    await(manager.redirects().serve(RedirectKind.DNS, 0));
    await(manager.redirects().join(flow("10.77.0.2", "198.51.100.9"), PORT));
    assertEquals(10_000, firstPort(RedirectKind.HTTP));
    assertEquals(0, firstPort(RedirectKind.DNS));
    restart();
    assertEquals(10_000, manager.redirects().previousPort(RedirectKind.HTTP));
    assertEquals(0, manager.redirects().previousPort(RedirectKind.DNS));
    assertEquals(0, firstPort(RedirectKind.HTTP));
    assertNull(socket(4));
    assertEquals(Level.OK, ManagerTestNode.health(manager, "dp-guard").level());
  }
}
