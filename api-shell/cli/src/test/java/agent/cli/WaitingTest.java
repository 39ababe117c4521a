package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.call.DurationText;
import agent.cli.call.Progress;
import agent.cli.output.Terminal;
import agent.testkit.CannedHttpServer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Agents that are silent, and commands that go on. */
@Timeout(60)
class WaitingTest {
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadlineNs, "it does not happen");
      Thread.sleep(5);
    }
  }

  private static long elapsedMs(long startNs) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
  }

  /** Connections are accepted by the kernel, and no request is answered. */
  @Test
  void shouldEndWhereTheAgentIsSilent(@TempDir Path directory) throws IOException {
    final Path socket = directory.resolve("silent.sock");
    try (ServerSocketChannel silent = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.bind(UnixDomainSocketAddress.of(socket), 8);
      final long startNs = System.nanoTime();
      assertEquals(
          AgentCtl.FAILURE,
          agent.runIn(Map.of(), List.of("-H", socket.toString(), "status", "--timeout", "300ms")));
      assertTrue(
          elapsedMs(startNs) >= 300 && elapsedMs(startNs) < 5000, elapsedMs(startNs) + " ms");
      assertEquals("Error: the agent did not answer within 300 ms\n", agent.err());
    }
  }

  /** The queue of the socket is full, so that the kernel accepts no connection. */
  @Test
  void shouldEndWhereTheAgentAcceptsNoConnection(@TempDir Path directory) throws IOException {
    final Path socket = directory.resolve("full.sock");
    final List<SocketChannel> waiting = new ArrayList<>();
    try (ServerSocketChannel full = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      full.bind(UnixDomainSocketAddress.of(socket), 1);
      final SocketException refusal =
          assertThrows(
              SocketException.class,
              () -> {
                while (true) {
                  final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
                  waiting.add(client);
                  client.configureBlocking(false);
                  client.connect(UnixDomainSocketAddress.of(socket));
                }
              });
      assertFalse(refusal instanceof ConnectException, "the queue is full");
      final long startNs = System.nanoTime();
      assertEquals(
          AgentCtl.FAILURE,
          agent.runIn(Map.of(), List.of("-H", socket.toString(), "status", "--timeout", "0.4")));
      assertTrue(
          elapsedMs(startNs) >= 400 && elapsedMs(startNs) < 5000, elapsedMs(startNs) + " ms");
      assertEquals(
          "Error: cannot reach the agent on " + socket + ": no connection accepted within 400 ms\n",
          agent.err());
    } finally {
      for (final SocketChannel client : waiting) {
        client.close();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "x", "10h", "1e3", "0ms", "0.0s"})
  void shouldRefuseATimeThatIsNone(String time) {
    assertEquals(
        AgentCtl.USAGE_ERROR,
        agent.runWords(List.of("map", "list", "--timeout=" + time)),
        agent::err);
    assertTrue(agent.err().contains("'" + time + "' is not a positive duration"), agent.err());
  }

  @ParameterizedTest
  @CsvSource({"500ms,500", "10s,10000", "2m,120000", "3,3000", "0.5,500", "1.5s,1500", "0.1ms,1"})
  void shouldReadATime(String text, long ms) {
    assertEquals(ms, DurationText.of("--timeout", text, null).toMillis());
  }

  @Test
  void shouldShowOnATerminalThatItTakesLong() throws Exception {
    final Terminal seen = new Terminal(0, false, true, InstantSource.fixed(CliFixture.NOW));
    try (CannedHttpServer slow =
        CannedHttpServer.start(
            request -> {
              sleep(2300);
              return CannedHttpServer.answer(200, "[]");
            })) {
      final List<String> words = List.of("-H", slow.socket().toString(), "identity", "list");
      agent.on(seen);
      assertEquals(AgentCtl.OK, agent.runIn(Map.of(), words), agent::err);
      final String line = "\r\u001b[Kwaiting for the agent: ";
      assertTrue(agent.err().startsWith(line + "1 s" + line + "2 s"), agent.err());
      assertTrue(agent.err().endsWith(" s\r\u001b[K"), agent.err());
      agent.on(CliFixture.PIPE);
      assertEquals(AgentCtl.OK, agent.runIn(Map.of(), words), agent::err);
      assertEquals("", agent.err());
    }
    agent.on(seen).on("GET /identity", "[]");
    agent.output(AgentCtl.OK, "identity list");
    assertEquals("", agent.err(), "a call that takes no second shows nothing");
  }

  private static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Thread runInBackground(String line) {
    return Thread.ofPlatform().start(() -> agent.run(line));
  }

  @Test
  void shouldShowWhatChangesUntilInterrupted() throws Exception {
    agent.on("GET /identity", "[{\"id\":1,\"labels\":[\"a\"]}]");
    final Thread watch = runInBackground("identity list --watch --interval 20ms");
    await(() -> agent.requests().size() > 3);
    assertEquals("ID  LABELS\n1   a\n", agent.out(), "what is unchanged is shown once");
    agent.on("GET /identity", "[]");
    await(() -> agent.out().endsWith("\n\nID  LABELS\n"));
    watch.interrupt();
    assertTrue(watch.join(Duration.ofSeconds(60)));
  }

  @Test
  void shouldReplaceWhatStandsOnATerminal() throws Exception {
    agent.on(new Terminal(80, false, false, InstantSource.fixed(CliFixture.NOW)));
    agent.on("GET /identity", "[]");
    final Thread watch = runInBackground("identity list -w --interval 20ms");
    await(() -> agent.requests().size() > 2);
    agent.on("GET /identity", "[{\"id\":2}]");
    await(() -> agent.out().contains("2 "));
    watch.interrupt();
    assertTrue(watch.join(Duration.ofSeconds(60)));
    assertEquals("\u001b[H\u001b[2JID  LABELS\n\u001b[H\u001b[2JID  LABELS\n2   -\n", agent.out());
  }

  @Test
  void shouldEndAWatchWithTheFirstFailure() {
    agent.output(AgentCtl.FAILURE, "identity list --watch --interval 20ms");
    assertTrue(agent.err().startsWith("Error: path: unexpected GET /identity"), agent.err());
    agent.output(AgentCtl.USAGE_ERROR, "identity list --watch --interval x");
  }

  private static String entry(int number) {
    return "{\"code\":\"OK\",\"message\":\"m%d\",\"state\":\"ready\",\"timestamp\":\"2026-11-20T06:04:%02d.000Z\"}"
        .formatted(number, number % 60);
  }

  private static String log(int from, int to) {
    final List<String> entries = new ArrayList<>();
    for (int i = from; i <= to; i++) {
      entries.add(entry(i));
    }
    return "[" + String.join(",", entries) + "]";
  }

  @Test
  void shouldFollowTheLogOfAnEndpointUntilItIsGone() throws Exception {
    agent.on("GET /endpoint/7/log", log(1, 3));
    final Thread follow = runInBackground("endpoint log 7 --follow --interval 20ms");
    await(() -> agent.requests().size() > 2);
    agent.on("GET /endpoint/7/log", log(3, 5)); // the first two were dropped
    await(() -> agent.out().contains("m5"));
    agent.on("GET /endpoint/7/log", 404, "\"id: endpoint 7 does not exist\"");
    follow.join();
    assertEquals("endpoint 7 was removed\n", agent.err());
    assertEquals(
        """
        TIME                      AGE  CODE  STATE  MESSAGE
        2026-11-20T06:04:01.000Z  59s  OK    ready  m1
        2026-11-20T06:04:02.000Z  58s  OK    ready  m2
        2026-11-20T06:04:03.000Z  57s  OK    ready  m3
        2026-11-20T06:04:04.000Z  56s  OK    ready  m4
        2026-11-20T06:04:05.000Z  55s  OK    ready  m5
        """,
        agent.out());
  }

  @Test
  void shouldFollowTheLogAsOneJsonObjectALine() throws Exception {
    agent.on("GET /endpoint/7/log", log(1, 2));
    final Thread follow = runInBackground("endpoint log 7 -f -o json --interval 20ms");
    await(() -> agent.requests().size() > 2);
    assertEquals(entry(1) + "\n" + entry(2) + "\n", agent.out());
    follow.interrupt();
    follow.join();
    agent.output(AgentCtl.FAILURE, "endpoint log 8 --follow");
    assertFalse(agent.err().contains("was removed"), "it has never been there");
  }

  @Test
  void shouldFollowTheLogInTheOtherFormats() throws Exception {
    agent.on("GET /endpoint/7/log", log(1, 2));
    for (final String[] format :
        new String[][] {
          {"yaml", "---\ncode: OK\nmessage: m1\n", "---\ncode: OK\nmessage: m2\n"},
          {"jsonpath=.message", "m1\n", "m2\n"}
        }) {
      final int before = agent.requests().size();
      final Thread follow =
          runInBackground("endpoint log 7 -f -o " + format[0] + " --interval 20ms");
      await(() -> agent.requests().size() > before + 2);
      follow.interrupt();
      follow.join();
      assertTrue(agent.out().startsWith(format[1]), agent.out());
      assertEquals(1, agent.out().split(format[1], -1).length - 1, "shown once: " + agent.out());
      assertTrue(agent.out().contains("\n" + format[2]), agent.out());
    }
  }

  @Test
  void shouldWaitBetweenTheCallsOfAWatch() throws Exception {
    agent.on("GET /identity", "[]").on("GET /endpoint/7/log", "[]");
    for (final String line : List.of("identity list --watch", "endpoint log 7 --follow")) {
      final int before = agent.requests().size();
      final Thread watch = runInBackground(line + " --interval 30s");
      await(() -> agent.requests().size() > before);
      Thread.sleep(300);
      assertEquals(before + 1, agent.requests().size(), line);
      watch.interrupt();
      assertTrue(watch.join(Duration.ofSeconds(60)));
    }
  }

  /** A call ends with the answer, not with the second in which it is shown that it takes long. */
  @Test
  void shouldEndItsThreadWithTheCall() throws Exception {
    long shortestMs = Long.MAX_VALUE; // the machine may be busy
    for (int i = 0; i < 5; i++) {
      Progress.of(System.err, "waiting", true).close();
      final long startNs = System.nanoTime();
      await(
          () ->
              Thread.getAllStackTraces().keySet().stream()
                  .noneMatch(thread -> thread.getName().equals("progress")));
      shortestMs = Math.min(shortestMs, elapsedMs(startNs));
    }
    assertTrue(shortestMs < 800, shortestMs + " ms");
  }
}
