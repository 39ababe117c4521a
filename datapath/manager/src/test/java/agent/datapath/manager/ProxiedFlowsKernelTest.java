package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.MapFlag;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The flow of a client and a proxy, from each table that may have it and on either side. */
@KernelTest
class ProxiedFlowsKernelTest {
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int CLIENT_PORT = 40_000;
  private static final int PROXY_PORT = 10_001;
  private static final int PROXIED =
      ConntrackFlag.PROXIED.number() | ConntrackFlag.REWRITTEN.number();

  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void start() {
    node = new ManagerTestNode();
    manager = node.launch(node.context());
  }

  @AfterEach
  void stop() throws IOException {
    manager.close();
    node.close();
  }

  private IpAddress proxy(boolean ipv4) {
    return manager.redirects().address(!ipv4).orElseThrow();
  }

  /** Returns an address whose last byte, which decides, is above or below that of the proxy. */
  private IpAddress client(boolean ipv4, boolean isHigh) {
    final String last = isHigh ? "fe" : "0";
    return IpAddress.parse(ipv4 ? "10.77.0." + (isHigh ? 254 : 0) : "fd77::" + last);
  }

  /** Writes the entry of a flow, in which no two numbers of one kind are the same. */
  private void put(String table, int protocol, IpAddress client, boolean isHigh, int flags) {
    final BpfMap map = manager.maps().find(table).orElseThrow();
    final EntryBuffer entry = new EntryBuffer(map);
    final boolean ipv4 = client.isIpv4();
    final IpAddress low = isHigh ? proxy(ipv4) : client;
    final IpAddress high = isHigh ? client : proxy(ipv4);
    final int lowPort = isHigh ? PROXY_PORT : CLIENT_PORT;
    final int highPort = isHigh ? CLIENT_PORT : PROXY_PORT;
    final ConntrackEntryFlyweight value =
        new ConntrackEntryFlyweight().wrap(entry.value(), 0).clear();
    if (ipv4) {
      new Conntrack4KeyFlyweight()
          .wrap(entry.key(), 0)
          .clear()
          .lowAddress((int) low.low())
          .highAddress((int) high.low())
          .lowPort(lowPort)
          .highPort(highPort)
          .protocol(protocol);
      value.end().address(server(true).low() << Integer.SIZE, 0);
    } else {
      new Conntrack6KeyFlyweight()
          .wrap(entry.key(), 0)
          .clear()
          .lowAddress(low.high(), low.low())
          .highAddress(high.high(), high.low())
          .lowPort(lowPort)
          .highPort(highPort)
          .protocol(protocol);
      value.end().address(server(false).high(), server(false).low());
    }
    final int side = isHigh ? 1 : 0;
    value
        .expiresNs(System.nanoTime() + TimeUnit.HOURS.toNanos(1))
        .flags(flags)
        .party(side, 7)
        .party(1 - side, 9)
        .identity(side, 1_001)
        .identity(1 - side, 1_002)
        .end()
        .port(443);
    assertEquals(0, map.update(entry, MapFlag.ANY));
  }

  private static IpAddress server(boolean ipv4) {
    return IpAddress.parse(ipv4 ? "198.51.100.9" : "2001:db8:9::9");
  }

  private static int initiator(boolean isHigh) {
    return isHigh ? ConntrackFlag.INITIATOR_HIGH.number() : 0;
  }

  private Optional<RedirectedFlow> find(int protocol, IpAddress client) {
    return manager.redirects().find(protocol, client, CLIENT_PORT, PROXY_PORT);
  }

  private void assertFound(String table, int protocol, boolean ipv4, boolean isHigh) {
    final IpAddress client = client(ipv4, isHigh);
    put(table, protocol, client, isHigh, PROXIED | initiator(isHigh));
    assertEquals(
        Optional.of(
            new RedirectedFlow(
                protocol, client, CLIENT_PORT, 1_001, 7, server(ipv4), 443, 1_002, 9)),
        find(protocol, client),
        table + " " + protocol + " " + client);
    assertEquals(Optional.empty(), find(protocol == TCP ? UDP : TCP, client), table);
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void shouldFindAFlowInEachTableThatMayHaveIt(boolean ipv4, boolean isHigh) {
    final String name = ipv4 ? "conntrack4_" : "conntrack6_";
    final IpAddress client = client(ipv4, isHigh);
    put(name + "any", TCP, client, isHigh, PROXIED | initiator(isHigh));
    put(name + "tcp", UDP, client, isHigh, PROXIED | initiator(isHigh));
    assertEquals(Optional.empty(), find(TCP, client), "not a table of TCP");
    assertEquals(Optional.empty(), find(UDP, client), "a table of TCP");
    put(name + "overflow", UDP, client, isHigh, initiator(isHigh));
    assertEquals(Optional.empty(), find(UDP, client), "no flow of a proxy");
    put(name + "overflow", UDP, client, isHigh, PROXIED | initiator(!isHigh));
    assertEquals(Optional.empty(), find(UDP, client), "the proxy has begun it");
    assertFound(name + "overflow", UDP, ipv4, isHigh);
  }

  @ParameterizedTest
  @CsvSource({
    "tcp, 6, true", "any, 17, true", "overflow, 6, true", "overflow, 17, true",
    "tcp, 6, false", "any, 17, false", "overflow, 6, false", "overflow, 17, false"
  })
  void shouldTellWhoTheEndsAre(String table, int protocol, boolean ipv4) {
    assertFound((ipv4 ? "conntrack4_" : "conntrack6_") + table, protocol, ipv4, true);
    assertFound((ipv4 ? "conntrack4_" : "conntrack6_") + table, protocol, ipv4, false);
  }
}
