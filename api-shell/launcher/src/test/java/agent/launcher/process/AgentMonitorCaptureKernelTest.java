package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
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
  private static final int DATAGRAMS = 50;
  private static final int ICMP = 1;
  private static final int ICMPV6 = 58;
  private static final List<String> FRONTENDS = List.of("10.96.0.1", "fd96::1");
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
    final Set<String> translations;
    try (TestControlGroup sockets = TestControlGroup.create(); // of which the client is not
        TestNode node = new TestNode()) {
      final AgentProcess agent =
          node.agent(
              "--endpoint-event-rate", "1000000", "--cgroup-root", sockets.path().toString());
      final TestWorkload client = node.workload(agent, "client", "app=client");
      final TestWorkload web = node.workload(agent, "web", "app=web");
      node.keep(TcpEchoServer.start(web.namespace(), ALLOWED));
      for (final String address : List.of(web.ipv4(), web.ipv6())) {
        node.keep(UdpEchoServer.start(web.namespace(), address, ALLOWED));
      }
      agent.expect(200, "PUT", "/policy", RULES);
      agent.expect(201, "PUT", "/service/1", service(FRONTENDS.get(0), web.ipv4()));
      agent.expect(201, "PUT", "/service/2", service(FRONTENDS.get(1), web.ipv6()));
      try (CtlProcess monitor =
              CtlProcess.start(
                  directory, "monitor", "-o", "json", "-H", "unix://" + agent.socket());
          Capture capture = Capture.start(node, client.veth().hostInterface(), file)) {
        awaitMarker(monitor, client, web);
        for (final String address : List.of(web.ipv4(), web.ipv6())) {
          talk(client, address);
        }
        for (final String address : FRONTENDS) {
          exchange(client, address);
        }
        awaitMarker(monitor, client, web); // what came before it has been reported
        reported = reported(monitor.output(), client);
        translations = translations(monitor.output(), client);
        assertTrue(capture.isRunning());
        Capture.await(
            file, filter(client), reported.size()); // a stop loses what is not written yet
      }
      final Map<String, String> backends =
          Map.of(FRONTENDS.get(0), web.ipv4(), FRONTENDS.get(1), web.ipv6());
      final List<Seen> captured = captured(file, client, backends);
      assertTrue(
          captured.size() > 4 * (3 + 50 + DATAGRAMS) + 2 * (2 + 1 + 1),
          captured.size() + " packets");
      assertEquals(sorted(captured), sorted(reported));
      assertVerdicts(reported);
      assertEquals(
          Set.of(
              "6 10.96.0.1 " + web.ipv4(),
              "17 10.96.0.1 " + web.ipv4(),
              "6 fd96::1 " + web.ipv6(),
              "17 fd96::1 " + web.ipv6()),
          translations);
    }
  }

  /** Returns which frontends of the client were translated to which backends. */
  private static Set<String> translations(String lines, TestWorkload client) {
    final Set<String> found = new TreeSet<>();
    for (final String line : lines.lines().toList()) {
      final JsonNode event = MAPPER.readTree(line);
      if (event.get("type").asString().equals("translation")
          && event.path("endpoint").asInt() == client.id()) {
        found.add(
            event.get("protocol").asInt()
                + " "
                + event.at("/frontend/address").asString()
                + " "
                + event.at("/backend/address").asString());
      }
    }
    return found;
  }

  private static String service(String frontend, String backend) {
    return "{\"frontend-address\":{\"ip\":\"%s\",\"port\":%d},\"backend-addresses\":[{\"ip\":\"%s\",\"port\":%d}]}"
        .formatted(frontend, ALLOWED, backend, ALLOWED);
  }

  private static void exchange(TestWorkload client, String address) throws Exception {
    try (TcpConnection open = TcpConnection.open(client.namespace(), address, ALLOWED)) {
      assertTrue(open.exchangesMore(50, 5000));
    }
    try (UdpStream stream = UdpStream.start(client.namespace(), address, ALLOWED, 1)) {
      while (stream.sent() < DATAGRAMS) {
        TimeUnit.MILLISECONDS.sleep(5);
      }
      assertEquals(0, stream.stopAndCountLost());
    }
  }

  private static void talk(TestWorkload client, String address) throws Exception {
    exchange(client, address);
    TcpConnection.attempt(client.namespace(), address, DENIED, 1500);
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

  /** The tool sees the frontend of a service; the packet is reported as it was judged. */
  private static List<Seen> captured(Path file, TestWorkload client, Map<String, String> backends)
      throws Exception {
    final Map<InetAddress, String> services = new HashMap<>();
    for (final Map.Entry<String, String> service : backends.entrySet()) {
      services.put(InetAddress.ofLiteral(service.getKey()), service.getValue());
    }
    final Set<InetAddress> used = new HashSet<>();
    final List<Seen> seen = new ArrayList<>();
    for (final String line :
        Capture.packets(
            file,
            filter(client),
            "ip.dst ipv6.dst ip.proto ipv6.nxt tcp.srcport udp.srcport tcp.dstport udp.dstport"
                + " frame.len")) {
      final String[] words = line.split("\\|", -1);
      final InetAddress destination = InetAddress.ofLiteral(words[0] + words[1]);
      used.add(destination);
      seen.add(
          new Seen(
              services.getOrDefault(destination, destination.getHostAddress()),
              Integer.parseInt(words[2] + words[3]),
              number(words[4] + words[5]),
              number(words[6] + words[7]),
              number(words[8]),
              "captured"));
    }
    assertTrue(used.containsAll(services.keySet()), used::toString);
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
