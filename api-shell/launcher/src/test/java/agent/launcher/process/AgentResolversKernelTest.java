package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkCounters;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The resolver of glibc as a client of the DNS proxy, with servers as they are met. */
@KernelTest
class AgentResolversKernelTest {
  private static final int PORT = 8080;
  private static final String SERVER4 = WorldNetwork.ADDRESSES.getFirst();
  private static final String SERVER6 = WorldNetwork.ADDRESSES.getLast();
  private static final String STRANGER = "192.0.2.66";
  private static final String FORGER = "192.0.2.53";
  private static final String SILENT = "192.0.2.54";
  private static final int MANY = 45; // with one more, within the limit of a name
  private static final int FRESH = 30;

  @TempDir private Path directory;
  private TestNode node;
  private NetworkNamespace outside;
  private AgentProcess agent;
  private TestWorkload client;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    outside = WorldNetwork.connect(node);
    outside.ip("route add 10.210.0.0/24 via 192.0.2.1");
    outside.ip("-6 route add fd00:210::/96 via 2001:db8:2::1");
    for (final String address : List.of(STRANGER, FORGER, SILENT)) {
      outside.ip("address add " + address + "/24 dev eth0");
    }
    outside.ip("route add local 198.51.100.0/24 dev lo");
    node.namespace().ip("route add 198.51.100.0/24 via " + SERVER4);
    node.keep(HttpOrigin.start(outside, PORT));
    final NameServer server = NameServer.start(outside, SERVER4);
    node.keep(server);
    final List<String> records = new ArrayList<>();
    for (final String name : List.of("www", "one")) {
      records.add(SERVER4 + " " + name + ".example.com");
      records.add(SERVER6 + " " + name + ".example.com");
    }
    IntStream.range(0, MANY).forEach(i -> records.add("198.18.0." + i + " big.example.com"));
    records.add(SERVER4 + " big.example.com");
    IntStream.range(0, FRESH).forEach(i -> records.add(fresh(i) + " fresh" + i + ".example.com"));
    server.records(records.toArray(String[]::new));
    agent = node.agent("--debug", "--device=" + WorldNetwork.DEVICE);
    client = node.workload(agent, "client", "app=client");
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
          {"toCIDR": ["192.0.2.0/24"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
            "rules": {"dns": [{"matchPattern": "*.example.com"}]}}]},
          {"toFQDNs": [{"matchPattern": "*.example.com"}],
            "toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}]}]}]}]
        """
            .formatted(PORT));
    ask(SERVER4);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Makes the workload ask these servers, one after the other. */
  private void ask(String... servers) throws Exception {
    final StringBuilder text = new StringBuilder("options timeout:1 attempts:3\n");
    for (final String server : servers) {
      text.append("nameserver ").append(server).append('\n');
    }
    Files.writeString(directory.resolve("resolv.conf"), text);
  }

  /** Runs a command of the workload, which has a {@code resolv.conf} of its own. */
  private Commands.Outcome run(String command) {
    return client
        .namespace()
        .attempt(
            OwnMounts.resolverFile(directory.resolve("resolv.conf"), List.of(command.split(" "))));
  }

  private void assertFetched(String name, String family) throws Exception {
    final Commands.Outcome outcome =
        run("curl -sS -m 8 " + family + " -o /dev/null http://" + name + ":" + PORT + "/");
    if (outcome.status() != 0) {
      fail(name + " " + family + ": " + outcome.output() + state());
    }
  }

  /** Returns what the server answers now and what the agent has logged, to explain a failure. */
  private String state() throws Exception {
    return run("dig +tries=1 @" + SERVER4 + " www.example.com").output() + agent.log();
  }

  private Outcome reached(String address) {
    return TcpConnection.attempt(client.namespace(), address, PORT, 400);
  }

  private static String fresh(int number) {
    return "198.51.100." + (number + 1);
  }

  /** The client connects as soon as it has the answer; a SYN that is lost is sent again. */
  @Test
  void shouldHaveTheAddressOfANewNameInForceBeforeTheAnswer() throws Exception {
    final InetSocketAddress server = new InetSocketAddress(SERVER4, 53);
    client
        .namespace()
        .run(
            () -> {
              try (DatagramChannel questions = DatagramChannel.open().connect(server)) {
                for (int i = 0; i < FRESH; i++) {
                  questions.write(question("fresh" + i));
                  final ByteBuffer answer = ByteBuffer.allocate(512);
                  questions.read(answer);
                  assertEquals(1, answer.getShort(6), "addresses of fresh" + i);
                  SocketChannel.open(new InetSocketAddress(fresh(i), PORT)).close();
                }
              }
              return null;
            });
    assertEquals(0, NetworkCounters.of(client.namespace()).value("TcpExt:TCPSynRetrans"));
  }

  /** RFC 1035, section 4.1: the question for the address of a name below {@code example.com}. */
  private static ByteBuffer question(String label) {
    final ByteBuffer message = ByteBuffer.allocate(512);
    message.putShort((short) 1).putShort((short) 0x0100).putShort((short) 1).position(12);
    for (final String part : List.of(label, "example", "com")) {
      message.put((byte) part.length()).put(part.getBytes(StandardCharsets.US_ASCII));
    }
    return message.put((byte) 0).putShort((short) 1).putShort((short) 1).flip();
  }

  @Test
  void shouldTakeTheNameOfAnAliasAndNoOtherDomain() throws Exception {
    assertFetched("alias.example.com", "-6");
    assertFetched("alias.example.com", "-4");
    assertEquals(6, run("curl -sS -m 8 http://www.example.net:" + PORT + "/").status());
  }

  @Test
  void shouldKeepWhatWasLearnedOverAKill() throws Exception {
    assertEquals(Outcome.UNANSWERED, reached(SERVER6));
    assertFetched("www.example.com", "-6");
    agent.kill();
    agent = node.agent("--debug", "--device=" + WorldNetwork.DEVICE);
    assertEquals(Outcome.CONNECTED, reached(SERVER6));
    assertEquals(Outcome.UNANSWERED, reached(STRANGER));
  }

  /** The truncated answer has no address that counts; the resolver asks again by TCP. */
  @Test
  void shouldServeAnAnswerThatIsTruncatedByTcp() {
    final String truncated =
        run("dig +ignore +noedns +tries=1 @" + SERVER4 + " big.example.com A").output();
    assertTrue(truncated.matches("(?s).*flags:[a-z ]* tc[ ;].*"), truncated);
    final List<String> found = run("getent ahostsv4 big.example.com").output().lines().toList();
    assertEquals(
        MANY + 1, found.stream().map(line -> line.split(" ")[0]).distinct().count(), "" + found);
    assertEquals(Outcome.CONNECTED, reached(SERVER4));
  }

  /** The first server takes questions and never answers. */
  @Test
  void shouldLetTheResolverAskTheNextServer() throws Exception {
    try (DatagramChannel silent = server(SILENT)) {
      ask(SILENT, SERVER4);
      assertFetched("www.example.com", "-4");
      silent.configureBlocking(false);
      assertTrue(silent.receive(ByteBuffer.allocate(512)) != null, "it was asked");
    }
    ask("192.0.2.99", SERVER4); // no host has it
    assertFetched("one.example.com", "-4");
  }

  private DatagramChannel server(String address) throws Exception {
    return outside.run(() -> DatagramChannel.open().bind(new InetSocketAddress(address, 53)));
  }

  /** What is forged gives its address nothing, and the answer of the server counts. */
  @Test
  void shouldTakeNoForgedAnswer() throws Exception {
    try (DatagramChannel other =
        outside.run(() -> DatagramChannel.open().bind(new InetSocketAddress(FORGER, 5353)))) {
      final DatagramChannel server = server(FORGER);
      final Thread thread = Thread.ofPlatform().daemon().start(() -> forge(server, other));
      ask(FORGER);
      final List<String> found = run("getent ahostsv4 www.example.com").output().lines().toList();
      assertFalse(found.isEmpty());
      assertTrue(found.stream().allMatch(line -> line.startsWith(SERVER4 + " ")), "" + found);
      assertEquals(Outcome.CONNECTED, reached(SERVER4));
      assertEquals(Outcome.UNANSWERED, reached(STRANGER));
      server.close();
      thread.join();
    }
  }

  /** Answers with another identifier, of another name and from another port, and then rightly. */
  private static void forge(DatagramChannel server, DatagramChannel other) {
    try {
      while (true) {
        final ByteBuffer question = ByteBuffer.allocate(512);
        final SocketAddress from = server.receive(question);
        question.flip();
        final int id = question.getShort(0);
        server.send(answer(question, id + 1, 'w', STRANGER), from);
        server.send(answer(question, id, 'x', STRANGER), from);
        other.send(answer(question, id, 'w', STRANGER), from);
        Thread.sleep(50);
        server.send(answer(question, id, 'w', SERVER4), from);
      }
    } catch (ClosedChannelException e) {
      // The test has ended.
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** RFC 1035, section 4.1: the question with one address; {@code first} is the name's letter. */
  private static ByteBuffer answer(ByteBuffer question, int id, char first, String address)
      throws Exception {
    int end = 12;
    while (question.get(end) != 0) {
      end += 1 + question.get(end);
    }
    end += 5;
    final ByteBuffer answer = ByteBuffer.allocate(512).put(question.array(), 0, end);
    answer.putShort(0, (short) id).putShort(2, (short) 0x8580).putShort(6, (short) 1);
    answer.putShort(10, (short) 0).put(13, (byte) first);
    answer.putShort((short) 0xc00c).putShort((short) 1).putShort((short) 1).putInt(60);
    return answer.putShort((short) 4).put(InetAddress.getByName(address).getAddress()).flip();
  }
}
