package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.IpAddress;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xbill.DNS.Type;

/** A client and a server that others wrote: dig and dnsmasq, which {@code make deps} installs. */
class DnsProxyClientsTest {
  private static final int FIRST_PORT = 20_100;

  @TempDir private Path directory;
  private ProxyRig rig;
  private Process server;

  @BeforeEach
  void open() throws Exception {
    final int port = freePort();
    final StringBuilder configuration = new StringBuilder();
    configuration
        .append("port=%d\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\n")
        .append("pid-file=\nedns-packet-max=1232\nlocal=/example.com/\n")
        .append("host-record=edge.example.com,192.0.2.7,2001:db8::7,40\n")
        .append("cname=www.example.com,edge.example.com,30\n");
    for (int i = 0; i < 200; i++) {
      configuration.append("host-record=many.example.com,192.0.2.").append(i + 1).append('\n');
    }
    final Path file = directory.resolve("dnsmasq.conf");
    Files.writeString(file, configuration.toString().formatted(port));
    server =
        new ProcessBuilder("dnsmasq", "--no-daemon", "--conf-file=" + file)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("dnsmasq.log").toFile())
            .start();
    rig = new ProxyRig();
    rig.redirect.server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    rig.start();
    awaitServer(port);
  }

  private static int freePort() throws IOException {
    for (int port = FIRST_PORT; ; port++) {
      try (ServerSocket tcp = new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
          DatagramSocket udp = new DatagramSocket(port, InetAddress.getLoopbackAddress())) {
        return tcp.getLocalPort() & udp.getLocalPort();
      } catch (java.net.BindException taken) {
        assertTrue(port < FIRST_PORT + 1_000, "no port is free");
      }
    }
  }

  private void awaitServer(int port) throws Exception {
    final byte[] question = ProxyRig.question("edge.example.com.");
    for (int i = 0; i < 100; i++) {
      try (DatagramSocket socket = new DatagramSocket()) {
        socket.setSoTimeout(100);
        socket.connect(InetAddress.getLoopbackAddress(), port);
        socket.send(new DatagramPacket(question, question.length));
        socket.receive(new DatagramPacket(new byte[512], 512));
        return;
      } catch (IOException notYet) {
        assertTrue(server.isAlive(), Files.readString(directory.resolve("dnsmasq.log")));
        server.waitFor(50, TimeUnit.MILLISECONDS);
      }
    }
    throw new AssertionError("dnsmasq does not answer");
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
    server.destroy();
    server.waitFor(10, TimeUnit.SECONDS);
  }

  private String dig(String... arguments) throws Exception {
    final List<String> command =
        new ArrayList<>(
            List.of(
                "dig",
                "@127.0.0.1",
                "-p",
                Integer.toString(rig.proxy.firstPort() + 1),
                "+time=5",
                "+tries=1"));
    command.addAll(List.of(arguments));
    final Process dig = new ProcessBuilder(command).redirectErrorStream(true).start();
    final String text = new String(dig.getInputStream().readAllBytes());
    assertEquals(0, dig.waitFor(), text);
    return text;
  }

  @Test
  void shouldAnswerOverUdpAndTcpWithAndWithoutEdns() throws Exception {
    for (final String[] way :
        new String[][] {
          {"+edns=0", "+nocookie"},
          {"+noedns"},
          {"+tcp"},
          {"+tcp", "+noedns"},
          {"+dnssec", "+bufsize=1400"},
          {"+nsid", "+subnet=192.0.2.0/24"},
          {"+cookie"}
        }) {
      final List<String> arguments = new ArrayList<>(List.of("WWW.example.com", "A"));
      arguments.addAll(List.of(way));
      final String answer = dig(arguments.toArray(String[]::new));
      assertTrue(answer.contains("status: NOERROR"), answer);
      assertTrue(answer.contains("192.0.2.7"), answer);
      final boolean hasEdns = !arguments.contains("+noedns");
      assertEquals(hasEdns, answer.contains("EDNS: version: 0"), answer);
    }
    assertTrue(dig("www.example.com", "AAAA").contains("2001:db8::7"));
    assertEquals(IpAddress.parse("192.0.2.7"), rig.found.getFirst().answer().addresses().get(0));
    assertEquals(30, rig.found.getFirst().answer().ttlSec());
    assertEquals("www.example.com.", rig.found.getFirst().name());
  }

  @Test
  void shouldAskAgainOverTcpWhereAnAnswerIsTruncated() throws Exception {
    final String answer = dig("many.example.com", "A", "+noedns");
    assertTrue(answer.contains("Truncated, retrying in TCP mode"), answer);
    assertTrue(answer.contains("ANSWER: 200"), answer);
    assertEquals(200, rig.found.getLast().answer().addresses().size());
  }

  @Test
  void shouldPassAndRefuseNames() throws Exception {
    assertTrue(dig("none.example.com", "A").contains("status: NXDOMAIN"));
    rig.denied.add("www.example.com");
    for (final String way : List.of("+notcp", "+tcp")) {
      final String refused = dig("www.example.com", "A", way);
      assertTrue(refused.contains("status: REFUSED"), refused);
      assertTrue(refused.contains("EDNS: version: 0"), refused);
    }
    assertEquals(Type.A, rig.events.getLast().type());
  }
}
