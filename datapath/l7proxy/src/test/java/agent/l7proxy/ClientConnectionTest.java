package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.DefaultChannelId;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

  @Test
  void shouldReportToTheLogAndTheListener() throws Exception {
    final Path file = folder.resolve("access.log");
    try (LogFile<RequestRecord> log = RecordText.open(file, identity -> List.of())) {
      final ClientConnection logged =
          new ClientConnection(
              connection.context(),
              ExchangeBench.FLOW,
              client,
              bench.counters.of(ExchangeBench.FLOW),
              bench.clients,
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
