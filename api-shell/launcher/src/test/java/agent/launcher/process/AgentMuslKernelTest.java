package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkCounters;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The resolver of musl as a client of the DNS proxy: it sends the questions for both families at
 * once, from one socket, and takes no code but success and {@code NXDOMAIN} for an answer.
 */
@KernelTest
class AgentMuslKernelTest {
  private static final int PORT = 8080;
  private static final int NAMES = 20;
  private static final String RESOLVER = "198.51.100.53";
  private static final String SERVER4 = "198.51.100.9";
  private static final String SERVER6 = "2001:db8:51::9";

  @TempDir private Path directory;
  private TestNode node;
  private NetworkNamespace outside;
  private Path program;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().ip("address add 198.51.100.1/24 dev ext0");
    node.namespace().ip("address add 2001:db8:51::1/64 dev ext0 nodad");
    node.namespace().ip("address add fe80::1/64 dev ext0 nodad");
    outside.ip("address add " + SERVER4 + "/24 dev eth0");
    outside.ip("address add " + RESOLVER + "/24 dev eth0");
    outside.ip("address add " + SERVER6 + "/64 dev eth0 nodad");
    outside.ip("route add 10.210.0.0/24 via 198.51.100.1");
    outside.ip("-6 route add fd00:210::/96 via 2001:db8:51::1");
    node.keep(TcpEchoServer.start(outside, PORT));
    Files.writeString(directory.resolve("resolv.conf"), "nameserver " + RESOLVER + "\n");
    program = directory.resolve("resolve");
    Commands.run("musl-gcc", "-static", "-O1", "-o", program.toString(), "src/test/c/resolve.c");
    final NameServer server = NameServer.start(outside, RESOLVER);
    node.keep(server);
    final List<String> records = new ArrayList<>(List.of(SERVER4 + " no.example.com"));
    for (int i = 0; i < NAMES; i++) {
      records.add(SERVER4 + " www" + i + ".example.com");
      records.add(SERVER6 + " www" + i + ".example.com");
    }
    server.records(records.toArray(String[]::new));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private TestWorkload client(String code) throws Exception {
    final AgentProcess agent =
        node.agent("--device=ext0", "--tofqdns-dns-reject-response-code=" + code);
    final TestWorkload client = node.workload(agent, "client", "app=client");
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
          {"toCIDR": ["%s/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
            "rules": {"dns": [{"matchPattern": "www*.example.com"}]}}]},
          {"toFQDNs": [{"matchPattern": "www*.example.com"}],
            "toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}]}]}]}]
        """
            .formatted(RESOLVER, PORT));
    return client;
  }

  /** Returns what the program prints, a line for each name. */
  private List<String> resolve(TestWorkload client, String... names) {
    final List<String> command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of(names));
    final String[] line = OwnMounts.resolverFile(directory.resolve("resolv.conf"), command);
    return client.namespace().attempt(line).output().lines().toList();
  }

  @Test
  void shouldAnswerTheQuestionsForBothFamiliesFromOneSocket() throws Exception {
    final TestWorkload client = client("nameError");
    assertEquals(List.of("www0.example.com"), names(resolve(client, "www0.example.com")));
    final String[] others = new String[NAMES - 1];
    Arrays.setAll(others, i -> "www" + (i + 1) + ".example.com");
    final long before = questions(client);
    final List<String> found = resolve(client, others);
    assertEquals(List.of(others), names(found), found.toString());
    assertEquals(
        2 * others.length, questions(client) - before, "a question that is lost is asked again");
    for (final String address : List.of(SERVER4, SERVER6)) {
      assertEquals(
          Outcome.CONNECTED, TcpConnection.attempt(client.namespace(), address, PORT, 400));
    }
    assertEquals(
        List.of("no.example.com error NONAME", "www.example.net error NONAME"),
        resolve(client, "no.example.com", "www.example.net"));
  }

  /** Returns how many datagrams the workload has sent. */
  private static long questions(TestWorkload client) {
    return NetworkCounters.of(client.namespace()).value("Udp:OutDatagrams");
  }

  /** Returns the names whose line has the address of each family. */
  private static List<String> names(List<String> lines) {
    final Set<String> addresses = new TreeSet<>(List.of(SERVER4, SERVER6));
    return lines.stream()
        .map(line -> List.of(line.split(" ")))
        .filter(words -> addresses.equals(new TreeSet<>(words.subList(1, words.size()))))
        .map(List::getFirst)
        .toList();
  }

  /** It waits for another answer than REFUSED, and tells that it got none. */
  @Test
  void shouldLetADeniedNameEndAsTheResolverDoesWithRefused() throws Exception {
    final TestWorkload client = client("refused");
    assertEquals(List.of("no.example.com error AGAIN"), resolve(client, "no.example.com"));
    assertEquals(List.of("www0.example.com"), names(resolve(client, "www0.example.com")));
  }
}
