package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RedirectStatistics.Messages;
import io.netty.channel.DefaultChannelId;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When a connection is idle, and what ends with it. */
class ClientConnectionTest {
  private final ExchangeBench bench =
      new ExchangeBench(context -> context.idleTimeout(Duration.ofSeconds(10)));
  private final ClientConnection connection = bench.connection;
  private final EmbeddedSocket client = bench.client;

  @TempDir Path folder;

  private EmbeddedChannel stream() {
    final EmbeddedChannel stream =
        new EmbeddedChannel(client, DefaultChannelId.newInstance(), true, false);
    connection.opened(stream);
    return stream;
  }

  @Test
  void shouldBeIdleWhileItHasNoStream() {
    connection.idle().start(client::close);
    final EmbeddedChannel first = stream();
    assertFalse(connection.idle().isRunning());
    final EmbeddedChannel second = stream();
    first.close();
    assertFalse(connection.idle().isRunning());
    second.close();
    assertTrue(connection.idle().isRunning());
    client.pass(9_999);
    stream().close();
    client.pass(9_999);
    assertTrue(client.isOpen());
    client.pass(1);
    assertFalse(client.isOpen());
  }

  /** An orderly end would send what the sockets hold, and the peer could take it for whole. */
  @ParameterizedTest
  @CsvSource({"false, 0", "true, 200"})
  void shouldResetTheConnectionsOfBothSidesOfARequestThatIsNotAllowedAnyMore(
      boolean isAnswered, int status) {
    final EmbeddedSocket server = bench.server();
    client.receive(ExchangeBench.CHUNKED + "2\r\nab\r\n");
    assertTrue(server.sent().endsWith("2\r\nab\r\n"));
    if (isAnswered) {
      server.receive(ExchangeBench.HALF);
    }
    connection.enforce();
    assertTrue(client.isOpen() && server.isOpen(), "it is allowed");
    assertEquals(List.of(), bench.records);
    bench.rule = request -> HttpVerdict.DENIED;
    connection.enforce();
    assertFalse(client.isOpen() || server.isOpen());
    assertEquals(0, client.lingerSec);
    assertEquals(0, server.lingerSec);
    assertEquals(1, bench.records.size());
    assertEquals(Verdict.DENIED, bench.records.getFirst().verdict());
    assertEquals(status, bench.records.getFirst().status());
    assertEquals(new Messages(1, 1, 1, 0), bench.requests());
    assertFalse(client.sent().contains("503"), "the server has not failed");
    assertEquals(isAnswered ? 1 : 0, bench.responses().error());
  }

  @Test
  void shouldResetAnIdleConnectionToTheServerWithThatOfTheClient() {
    final EmbeddedSocket server = bench.server();
    connection.reset();
    assertFalse(client.isOpen() || server.isOpen());
    assertEquals(0, client.lingerSec);
    assertEquals(0, server.lingerSec);
  }

  @Test
  void shouldStopItsLimitsAndCloseTheServerAtItsEnd() {
    final EmbeddedSocket server = bench.server();
    connection.head().start(() -> {});
    connection.idle().start(() -> {});
    client.close();
    assertFalse(connection.head().isRunning());
    assertFalse(connection.idle().isRunning());
    assertFalse(server.isOpen());
    assertSame(ExchangeBench.FLOW, connection.flow());
  }

  private static RedirectedFlow flow(int serverIdentity, int serverPort) {
    final RedirectedFlow flow = ExchangeBench.FLOW;
    return new RedirectedFlow(
        flow.protocol(),
        flow.client(),
        flow.clientPort(),
        flow.clientIdentity(),
        flow.clientEndpoint(),
        flow.server(),
        serverPort,
        serverIdentity,
        flow.serverEndpoint());
  }

  /** Its address gets another identity where a rule names it. */
  @Test
  void shouldJudgeByTheIdentitiesOfTheLastSecond() {
    final RedirectedFlow other = flow(1003, 80);
    bench.found = Optional.of(other);
    client.pass(999);
    bench.server();
    client.receive(ExchangeBench.GET);
    assertEquals(0, bench.finds);
    bench.kept.receive(ExchangeBench.OK);
    client.pass(1);
    for (int i = 0; i < 2; i++) {
      bench.server();
      client.receive(ExchangeBench.GET);
      bench.kept.receive(ExchangeBench.OK);
    }
    assertEquals(List.of(ExchangeBench.FLOW, other, other), bench.flows);
    assertEquals(1, bench.finds);
    assertSame(other, connection.flow());
  }

  @Test
  void shouldDenyByTheIdentitiesOfNowAlone() {
    final RedirectedFlow other = flow(1003, 80);
    bench.rule =
        request -> bench.flows.getLast() == other ? HttpVerdict.ALLOWED : HttpVerdict.DENIED;
    client.receive(ExchangeBench.GET);
    assertEquals(1, bench.flows.size(), "there are no others");
    assertTrue(client.sent().startsWith("HTTP/1.1 403"));
    bench.found = Optional.of(other);
    final EmbeddedSocket server = bench.server();
    client.receive(ExchangeBench.GET);
    assertEquals(ExchangeBench.GET, server.sent());
    assertEquals(List.of(ExchangeBench.FLOW, ExchangeBench.FLOW, other), bench.flows);
  }

  @Test
  void shouldJudgeAgainByTheIdentitiesOfNow() {
    final RedirectedFlow other = flow(1003, 80);
    bench.rule =
        request -> bench.flows.getLast() == other ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    bench.server();
    client.receive(ExchangeBench.GET);
    bench.found = Optional.of(other);
    connection.enforce();
    assertFalse(client.isOpen());
    assertEquals(List.of(ExchangeBench.FLOW, other), bench.flows);
  }

  /** Another flow has its entry now, or there is none. */
  @Test
  void shouldKeepTheEndsOfItsFlow() {
    bench.rule = request -> HttpVerdict.DENIED;
    for (final Optional<RedirectedFlow> found :
        List.of(Optional.<RedirectedFlow>empty(), Optional.of(flow(1003, 81)))) {
      bench.found = found;
      client.receive(ExchangeBench.GET);
      assertSame(ExchangeBench.FLOW, connection.flow());
    }
    assertEquals(2, bench.finds);
  }

  @Test
  void shouldReportToTheLogAndTheListener() throws Exception {
    final Path file = folder.resolve("access.log");
    try (LogFile<RequestRecord> log = RecordText.open(file, identity -> List.of())) {
      final ClientConnection logged =
          new ClientConnection(
              connection.context(),
              ExchangeBench.FLOW,
              ExchangeBench.PORT,
              client,
              bench.counters.of(ExchangeBench.FLOW),
              bench.counted,
              log);
      client.receive(ExchangeBench.GET);
      final RequestRecord record = bench.records.getFirst();
      logged.report(record);
      assertSame(record, bench.records.getLast());
      assertEquals(2, bench.records.size());
    }
    assertEquals(1, Files.readAllLines(file).size());
  }
}
