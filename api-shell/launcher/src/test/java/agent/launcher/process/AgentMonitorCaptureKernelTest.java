package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What {@code agentctl monitor} tells of the packets of a workload, beside what a tool sees that
 * gets its copies from the kernel before the programs.
 */
@KernelTest
class AgentMonitorCaptureKernelTest {
  private static final int ALLOWED = 80;
  private static final int DENIED = 81;
  private static final int MARKER = 9;
  private static final int ICMP = 1;
  private static final int ICMPV6 = 58;
  private static final JsonMapper MAPPER = new JsonMapper();

  /** The client reaches the server by TCP and UDP on one port, and by echo over IPv6. */
  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "web"}},
        "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "client"}}],
          "toPorts": [{"ports": [{"port": "80", "protocol": "TCP"},
            {"port": "80", "protocol": "UDP"}]}]},
         {"fromEndpoints": [{"matchLabels": {"app": "client"}}],
          "icmps": [{"fields": [{"family": "IPv6", "type": 128}]}]}]}]
      """;

  @TempDir private Path directory;

  @Test
  void shouldTellWhatAnotherToolCaptures() throws Exception {
    final Path file = directory.resolve("capture.pcapng");
    final List<Seen> reported;
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent("--endpoint-event-rate", "1000000");
      final TestWorkload client = node.workload(agent, "client", "app=client");
      final TestWorkload web = node.workload(agent, "web", "app=web");
      node.keep(TcpEchoServer.start(web.namespace(), ALLOWED));
      for (final String address : List.of(web.ipv4(), web.ipv6())) {
        node.keep(UdpEchoServer.start(web.namespace(), address, ALLOWED));
      }
      agent.expect(200, "PUT", "/policy", RULES);
      try (CtlProcess monitor =
              CtlProcess.start(
                  directory, "monitor", "-o", "json", "-H", "unix://" + agent.socket());
          Capture capture = Capture.start(node, client.veth().hostInterface(), file)) {
        awaitMarker(monitor, client, web);
        for (final String address : List.of(web.ipv4(), web.ipv6())) {
          talk(client, address);
        }
        awaitMarker(monitor, client, web); // what came before it has been reported
        reported = reported(monitor.output(), client);
        assertTrue(capture.isRunning());
        Capture.await(
            file, filter(client), reported.size()); // a stop loses what is not written yet
      }
      final List<Seen> captured = captured(file, client);
      assertTrue(captured.size() > 2 * (3 + 50 + 20 + 2 + 1 + 1), captured.size() + " packets");
      assertEquals(sorted(captured), sorted(reported));
      assertVerdicts(reported);
    }
  }

  private static void talk(TestWorkload client, String address) throws Exception {
    try (TcpConnection open = TcpConnection.open(client.namespace(), address, ALLOWED)) {
      assertTrue(open.exchangesMore(50, 5000));
    }
    TcpConnection.attempt(client.namespace(), address, DENIED, 1500);
    try (UdpStream stream = UdpStream.start(client.namespace(), address, ALLOWED, 1)) {
      TimeUnit.MILLISECONDS.sleep(100);
      assertEquals(0, stream.stopAndCountLost());
    }
    UdpStream.isAnswered(client.namespace(), address, DENIED, 200);
    Ping.isAnswered(client.namespace(), address, 300);
  }

  /** Sends datagrams until the monitor has reported one of them that it had not before. */
  private static void awaitMarker(CtlProcess monitor, TestWorkload client, TestWorkload web)
      throws Exception {
    final long before = markers(monitor);
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (markers(monitor) == before) {
      assertTrue(System.nanoTime() < endNs, "the monitor tells a packet in time");
      UdpStream.isAnswered(client.namespace(), web.ipv4(), MARKER, 100);
    }
  }

  private static long markers(CtlProcess monitor) throws IOException {
    return monitor
        .output()
        .lines()
        .filter(line -> line.contains("\"port\":" + MARKER + ","))
        .count();
  }

  /** A packet from the client. */
  private record Seen(
      String destination, int protocol, int fromPort, int toPort, int length, String kind) {
    @Override
    public String toString() {
      return "%s protocol %d ports %d to %d, %d bytes"
          .formatted(destination, protocol, fromPort, toPort, length);
    }
  }

  private static List<Seen> reported(String lines, TestWorkload client) {
    final Set<String> own = Set.of(client.ipv4(), client.ipv6());
    final List<Seen> seen = new ArrayList<>();
    for (final String line : lines.lines().toList()) {
      final JsonNode event = MAPPER.readTree(line);
      final String type = event.get("type").asString();
      final boolean isPacket = type.equals("trace") || type.equals("drop");
      if (!isPacket || !own.contains(event.at("/source/address").asString())) {
        continue;
      }
      final int protocol = event.get("protocol").asInt();
      final boolean hasPorts = protocol != ICMP && protocol != ICMPV6;
      final JsonNode to = event.get("destination");
      final boolean isFirst = event.get("direction").asString().equals("egress");
      if (to.path("port").asInt() == MARKER && hasPorts || !isFirst && type.equals("trace")) {
        continue;
      }
      seen.add(
          new Seen(
              to.get("address").asString(),
              protocol,
              hasPorts ? event.at("/source/port").asInt() : 0,
              hasPorts ? to.get("port").asInt() : 0,
              event.get("length").asInt(),
              type));
    }
    return seen;
  }

  private static List<Seen> captured(Path file, TestWorkload client) throws Exception {
    final List<Seen> seen = new ArrayList<>();
    for (final String line :
        Capture.packets(
            file,
            filter(client),
            "ip.dst ipv6.dst ip.proto ipv6.nxt tcp.srcport udp.srcport tcp.dstport udp.dstport"
                + " frame.len")) {
      final String[] words = line.split("\\|", -1);
      seen.add(
          new Seen(
              InetAddress.getByName(words[0] + words[1]).getHostAddress(),
              Integer.parseInt(words[2] + words[3]),
              number(words[4] + words[5]),
              number(words[6] + words[7]),
              number(words[8]),
              "captured"));
    }
    return seen;
  }

  private static String filter(TestWorkload client) {
    return ("(ip.src == %s or ipv6.src == %s) and (tcp or (udp and udp.dstport != %d)"
            + " or icmp.type == 8 or icmpv6.type == 128)")
        .formatted(client.ipv4(), client.ipv6(), MARKER);
  }

  private static int number(String text) {
    return text.isEmpty() ? 0 : Integer.parseInt(text);
  }

  private static List<String> sorted(List<Seen> packets) throws Exception {
    final List<String> texts = new ArrayList<>();
    for (final Seen packet : packets) {
      final String address = InetAddress.getByName(packet.destination).getHostAddress();
      texts.add(address + packet.toString().substring(packet.destination.length()));
    }
    Collections.sort(texts);
    return texts;
  }

  /** The denied ones are reported as drops, and no others. */
  private static void assertVerdicts(List<Seen> reported) {
    final Set<String> drops = new TreeSet<>();
    final Set<String> traces = new TreeSet<>();
    for (final Seen packet : reported) {
      final Set<String> kinds = packet.kind.equals("drop") ? drops : traces;
      kinds.add(packet.protocol + ":" + packet.toPort);
    }
    assertEquals(Set.of("6:81", "17:81", "1:0"), drops);
    assertEquals(Set.of("6:80", "17:80", "58:0"), traces);
  }
}
