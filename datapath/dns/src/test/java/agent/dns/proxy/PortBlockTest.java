package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.ProxyPorts;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.NetworkChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which ports the proxy binds, and which it has bound when one of them is taken. */
class PortBlockTest {
  private static final IpAddress IPV4 = IpAddress.parse("127.0.0.1");
  private static final IpAddress IPV6 = IpAddress.parse("::1");

  private static Stream<NetworkChannel> all(PortBlock block) {
    return Stream.concat(block.datagrams().stream(), block.servers().stream());
  }

  private static List<InetSocketAddress> bound(List<? extends NetworkChannel> channels)
      throws IOException {
    final List<InetSocketAddress> bound = new ArrayList<>();
    for (final NetworkChannel channel : channels) {
      bound.add((InetSocketAddress) channel.getLocalAddress());
    }
    return bound;
  }

  @Test
  void shouldBindEightPortsOfEachAddressOverBothProtocols() throws Exception {
    final PortBlock block = PortBlock.bind(List.of(IPV4, IPV6), 0, 0);
    assertTrue(block.first() >= ProxyPorts.FIRST);
    assertEquals(block.first() + 7, block.last());
    final List<InetSocketAddress> wanted =
        Stream.of(IPV4, IPV6)
            .flatMap(
                address ->
                    IntStream.rangeClosed(block.first(), block.last()).mapToObj(address::withPort))
            .toList();
    assertEquals(wanted, bound(block.datagrams()));
    assertEquals(wanted, bound(block.servers()));
    assertTrue(block.datagrams().stream().noneMatch(port -> port.isBlocking()));
    assertTrue(block.servers().stream().noneMatch(port -> port.isBlocking()));
    block.close();
    assertTrue(all(block).noneMatch(NetworkChannel::isOpen));
  }

  @Test
  void shouldBindThePortsOfTheFormerRunWhereTheyAreFree() {
    final PortBlock former = PortBlock.bind(List.of(IPV4), 0, 0);
    try (PortBlock other = PortBlock.bind(List.of(IPV4), 0, former.first())) {
      assertFalse(former.first() == other.first());
    }
    former.close();
    try (PortBlock again = PortBlock.bind(List.of(IPV4), 0, former.first())) {
      assertEquals(former.first(), again.first());
    }
  }

  @Test
  void shouldBindNoPortWhereTheLastIsTaken() throws Exception {
    final PortBlock former = PortBlock.bind(List.of(IPV4), 0, 0);
    former.close();
    try (DatagramSocket taken =
        new DatagramSocket(former.last(), InetAddress.getByName("127.0.0.1"))) {
      assertEquals(
          "--tofqdns-proxy-port: UDP port %d of 127.0.0.1: address already in use"
              .formatted(taken.getLocalPort()),
          assertThrows(
                  OperationException.class, () -> PortBlock.bind(List.of(IPV4), former.first(), 0))
              .getMessage());
    }
    PortBlock.bind(List.of(IPV4), former.first(), 0).close();
  }

  /** Those of the other proxy may be free, too. */
  @Test
  void shouldServeThePortsThatTheFormerRunHadForNames() throws Exception {
    final int former;
    try (ProxyRig rig = new ProxyRig()) {
      former = rig.start().proxy.firstPort();
    }
    try (ProxyRig rig = new ProxyRig()) {
      rig.redirect.previous = Map.of(RedirectKind.DNS, former);
      assertEquals(former, rig.start().proxy.firstPort());
    }
  }
}
