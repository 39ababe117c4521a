package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.SpecialAddresses;
import agent.testkit.SpecialAddresses.Block;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A workload that may reach the world, by proxies and without, asks every block of the
 * special-purpose address registries. Servers listen on all addresses of the node, its loopback
 * among them.
 */
@KernelTest
class AgentSpecialAddressKernelTest {
  /** How long an answer is waited for that must come, also on a busy machine. */
  private static final double ANSWERED_SEC = 10;

  private static final double DENIED_SEC = 2;

  private static final int PROXIED = 8080;
  private static final int DIRECT = 9090;
  private static final int DNS = 53;
  private static final int DIRECT_DNS = 5353;
  private static final String RANGE = "64:ff9b::";

  /** Addresses that the node delivers to its own sockets, though no device has them. */
  private static final String LOCAL4 = "198.51.100.77";

  private static final String LOCAL6 = "2001:db8:77::77";

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private HttpOrigin proxied;
  private HttpOrigin direct;
  private HttpOrigin outside;
  private DatagramChannel names;
  private DatagramChannel directNames;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    outside = HttpOrigin.start(WorldNetwork.connect(node), PROXIED);
    node.keep(outside);
    node.namespace().ip("route add local " + LOCAL4 + " dev lo");
    node.namespace().ip("-6 route add local " + LOCAL6 + " dev lo");
    proxied = HttpOrigin.start(node.namespace(), PROXIED);
    direct = HttpOrigin.start(node.namespace(), DIRECT);
    names = listen(DNS);
    directNames = listen(DIRECT_DNS);
    node.keep(proxied);
    node.keep(direct);
    node.keep(names);
    node.keep(directNames);
  }

  private DatagramChannel listen(int port) throws Exception {
    return node.namespace()
        .run(
            () -> {
              final DatagramChannel channel = DatagramChannel.open();
              channel.bind(new InetSocketAddress("::", port)).configureBlocking(false);
              return channel;
            });
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void launch(boolean isTranslated) throws Exception {
    final List<String> options = new ArrayList<>(List.of("--device", WorldNetwork.DEVICE));
    if (isTranslated) {
      options.addAll(List.of("--nat46-range", RANGE + "/96"));
    }
    agent = node.agent(options.toArray(String[]::new));
    client = node.workload(agent, "client", "app=client");
  }

  private void allow(String peers) throws Exception {
    agent.expect(
        200,
        "PUT",
        "/policy?replace=true",
        """
        [{"labels": [{"key": "name", "value": "special"}],
          "endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [{%s "toPorts": [
            {"ports": [{"port": "%d", "protocol": "TCP"}], "rules": {"http": [{}]}},
            {"ports": [{"port": "%d", "protocol": "UDP"}],
             "rules": {"dns": [{"matchPattern": "*"}]}},
            {"ports": [{"port": "%d", "protocol": "TCP"}, {"port": "%d", "protocol": "UDP"}]}]}]}]
        """
            .formatted(peers, PROXIED, DNS, DIRECT, DIRECT_DNS));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldReachNothingOfTheNodeThatIsNoneOfTheWorld(boolean isTranslated) throws Exception {
    launch(isTranslated);
    for (final String peers : new String[] {"\"toEntities\": [\"world\"],", ""}) {
      allow(peers);
      datagrams(false);
      datagrams(true);
      assertEquals(Set.of(), received(names), "by the DNS proxy: " + peers);
      assertEquals(Set.of(), received(directNames), "without it: " + peers);
      requests(isTranslated);
      assertEquals(List.of(), proxied.requests(), "by the HTTP proxy: " + peers);
      assertEquals(List.of(), direct.requests(), "without it: " + peers);
    }
    // What the rule is for goes on working.
    for (final String address : WorldNetwork.ADDRESSES) {
      assertEquals("200", status(host(address), PROXIED, ANSWERED_SEC));
    }
    assertNotEquals(List.of(), outside.requests());
  }

  /** Where the rule names the node, its addresses are reached by the proxy as without it. */
  @ParameterizedTest
  @ValueSource(strings = {LOCAL4, LOCAL6})
  void shouldReachAnAddressOfTheNodeOnlyAsTheNode(String address) throws Exception {
    launch(false);
    allow("\"toEntities\": [\"world\"],");
    assertNotEquals("200", status(host(address), DIRECT));
    assertNotEquals("200", status(host(address), PROXIED));
    assertEquals(List.of(), proxied.requests());
    assertEquals(List.of(), direct.requests());
    allow("\"toEntities\": [\"host\"],");
    assertEquals("200", status(host(address), DIRECT, ANSWERED_SEC));
    assertEquals("200", status(host(address), PROXIED, ANSWERED_SEC));
  }

  /** Sends a query in a frame to each address of no host, and to the proxy as if it were one. */
  private void datagrams(boolean ipv6) {
    final List<byte[]> frames = new ArrayList<>();
    for (final String address : (Iterable<String>) SpecialAddresses.invalid(ipv6)::iterator) {
      for (final int port : new int[] {DNS, DIRECT_DNS}) {
        frames.add(query(ipv6, address, port));
      }
    }
    PacketFlood.send(client.namespace(), "eth0", frames.size(), frames::get);
  }

  private byte[] query(boolean ipv6, String address, int port) {
    final IpPacket packet =
        ipv6 ? Packets.ipv6(client.ipv6(), address) : Packets.ipv4(client.ipv4(), address);
    final byte[] name =
        (address.replace(':', '-').replace('.', '-')).getBytes(StandardCharsets.US_ASCII);
    final ByteBuffer question = ByteBuffer.allocate(12 + 1 + name.length + 1 + 4);
    question.putShort((short) port).putShort((short) 0x100).putShort((short) 1).position(12);
    question
        .put((byte) name.length)
        .put(name)
        .put((byte) 0)
        .putShort((short) 1)
        .putShort((short) 1);
    return packet
        .from(client.veth().workloadMac())
        .to(client.veth().hostMac())
        .udp(40_000, port)
        .payload(question.array())
        .bytes();
  }

  private static Set<String> received(DatagramChannel channel) throws Exception {
    TimeUnit.MILLISECONDS.sleep(300);
    final Set<String> questions = new TreeSet<>();
    final ByteBuffer buffer = ByteBuffer.allocate(512);
    while (channel.receive(buffer.clear()) != null) {
      questions.add(new String(buffer.array(), 13, buffer.get(12), StandardCharsets.US_ASCII));
    }
    return questions;
  }

  /** Asks by ordinary sockets, which the workload's own stack sends out by its default route. */
  private void requests(boolean isTranslated) throws IOException {
    client.namespace().exec("sysctl", "-qw", "net.ipv4.conf.eth0.route_localnet=1");
    client.namespace().ip("rule del pref 0", "rule add pref 9 lookup local");
    client.namespace().ip("rule add pref 1 to 127.0.0.0/8 lookup main");
    final List<String> hosts = new ArrayList<>(List.of("127.0.0.1", "127.0.0.53"));
    if (isTranslated) {
      for (final Block block : SpecialAddresses.blocks(false)) {
        if (!block.isOfHosts()) {
          block.addresses().forEach(address -> hosts.add(host(RANGE + address)));
        }
      }
    }
    assertNoneAnswers(hosts);
    client.namespace().ip("rule del pref 1", "rule add pref 0 lookup local", "rule del pref 9");
  }

  /** Asks all at the same time: each waits for as long as an answer may take. */
  private void assertNoneAnswers(List<String> hosts) {
    final Map<String, CompletableFuture<String>> asked = new TreeMap<>();
    for (final int port : new int[] {PROXIED, DIRECT}) {
      for (final String host : hosts) {
        asked.put(
            host + " port " + port,
            CompletableFuture.supplyAsync(() -> status(host, port), Thread::startVirtualThread));
      }
    }
    asked.forEach((who, status) -> assertNotEquals("200", status.join(), who));
  }

  private static String host(String address) {
    return address.indexOf(':') < 0 ? address : "[" + address + "]";
  }

  private String status(String host, int port) {
    return status(host, port, DENIED_SEC);
  }

  private String status(String host, int port, double longestSec) {
    return client
        .namespace()
        .attempt(
            "curl",
            "-s",
            "-g",
            "-m",
            Double.toString(longestSec),
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "http://" + host + ":" + port + "/")
        .output();
  }
}
