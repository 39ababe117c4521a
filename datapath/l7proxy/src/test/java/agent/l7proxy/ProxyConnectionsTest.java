package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.testkit.RecordedLog;
import io.netty.channel.Channel;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.local.LocalChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whose descriptors are taken, who gets them, and what others have left. */
@Timeout(60)
class ProxyConnectionsTest {
  private static final int MOST = 32;

  /** What a client alone does not get; and what its connections to servers do not. */
  private static final int KEPT = 4;

  private static final int KEPT_OF_SERVERS = 2;

  private final MockTicker ticker = Ticker.newMockTicker();
  private final ProxyConnections connections = new ProxyConnections(MOST, ticker);

  private static RedirectedFlow flow(int client, int server) {
    return new RedirectedFlow(
        6, ProxyBench.LOOPBACK, 1, 1001, client, ProxyBench.LOOPBACK, 80, 1002, server);
  }

  /** A connection in memory, and when it has last become idle; null: it is at work. */
  private final class Counted {
    private final EmbeddedChannel channel;
    private final int client;
    private final CountedConnection counted;
    private Long idleNs;

    private Counted(EmbeddedChannel channel, int client, CountedConnection counted) {
      this.channel = channel;
      this.client = client;
      this.counted = counted;
    }

    private void idle() {
      ticker.advance(1, TimeUnit.NANOSECONDS);
      counted.idle();
      idleNs = ticker.nanoTime();
    }

    private Counted begin() {
      assertTrue(counted.begin());
      idleNs = null;
      return this;
    }

    private boolean isOpen() {
      channel.runPendingTasks();
      return channel.isOpen();
    }
  }

  /** Adds a connection of an endpoint, which is idle; null: it is refused. */
  private Counted client(int endpoint) {
    ticker.advance(1, TimeUnit.NANOSECONDS);
    final EmbeddedChannel channel = new EmbeddedChannel();
    final CountedConnection counted = connections.add(flow(endpoint, 9), channel);
    if (counted == null) {
      return null;
    }
    final Counted added = new Counted(channel, endpoint, counted);
    added.idleNs = ticker.nanoTime();
    return added;
  }

  /** Adds a connection to a server, which is at work; null: it is refused. */
  private Counted server(Counted of) {
    final CountedConnection counted = of.counted.addServer();
    if (counted == null) {
      return null;
    }
    final EmbeddedChannel channel = new EmbeddedChannel();
    counted.channel(channel);
    return new Counted(channel, of.client, counted);
  }

  /** Adds connections at work until one is refused. */
  private List<Counted> fill(int endpoint) {
    final List<Counted> all = new ArrayList<>();
    for (Counted more = client(endpoint); more != null; more = client(endpoint)) {
      all.add(more.begin());
      assertTrue(all.size() <= MOST);
    }
    return all;
  }

  private static List<Counted> open(List<Counted> of) {
    return of.stream().filter(Counted::isOpen).toList();
  }

  @Test
  void shouldGiveOneClientAllButAPartThatOthersGetTheirShareOf() {
    assertEquals(MOST - KEPT, fill(1).size());
    assertEquals(2, fill(2).size());
    assertEquals(1, fill(3).size());
    assertEquals(1, fill(4).size());
    assertEquals(0, fill(5).size());
    assertEquals(MOST, connections.descriptors());
    assertEquals(MOST, connections.clientConnections());
    assertEquals(5, connections.refused());
    assertEquals(0, connections.closedIdle());
  }

  /** All that another one asks first is answered. */
  @Test
  void shouldLeaveAConnectionAndOneToItsServerForAnotherClient() {
    final List<Counted> first = fill(1);
    int servers = 0;
    while (server(first.getFirst()) != null) {
      servers++;
    }
    assertEquals(KEPT - KEPT_OF_SERVERS, servers);
    final Counted other = client(2).begin();
    assertNotNull(server(other));
    assertEquals(MOST, connections.descriptors());
    assertNull(server(other));
    assertEquals(3, connections.refused());
  }

  @Test
  void shouldTakeTheServerThatIsIdleForTheLongestTime() {
    final Counted first = client(1).begin();
    final List<Counted> servers = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      servers.add(server(first));
    }
    servers.forEach(Counted::idle);
    servers.get(0).begin();
    servers.get(1).begin().idle();
    final List<Counted> clients = new ArrayList<>();
    while (servers.get(2).isOpen()) {
      clients.add(client(2).begin());
    }
    assertEquals(MOST - KEPT - 11 + 1, clients.size(), "none is taken before few are free");
    for (int i = 3; i < 10; i++) {
      assertTrue(servers.get(i).isOpen());
      client(2).begin();
      assertFalse(servers.get(i).isOpen());
    }
    assertTrue(servers.get(1).isOpen());
    client(2).begin();
    assertFalse(servers.get(1).isOpen());
    assertFalse(servers.get(1).counted.begin(), "it is not used again");
    assertNull(client(2));
    assertTrue(servers.get(0).isOpen(), "it is at work");
    servers.get(0).idle();
    assertNotNull(client(2));
    assertFalse(servers.get(0).isOpen());
    assertTrue(clients.stream().allMatch(Counted::isOpen));
    assertEquals(MOST - KEPT, connections.descriptors());
  }

  @Test
  void shouldTakeFromTheClientThatHasTheMostWhatIsIdleForTheLongestTime() {
    final List<Counted> first = new ArrayList<>();
    for (int i = 0; i < 18; i++) {
      first.add(client(1));
    }
    final List<Counted> second = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      second.add(client(2));
    }
    first.get(0).begin();
    first.get(1).begin().idle();
    first.get(3).counted.touch();
    for (final int oldest : new int[] {2, 4, 5, 6}) {
      assertTrue(first.get(oldest).isOpen());
      second.add(client(2));
      assertFalse(first.get(oldest).isOpen());
    }
    assertEquals(14, open(first).size());
    assertEquals(14, open(second).size());
    assertEquals(4, connections.closedIdle());
    second.add(client(2));
    assertFalse(second.getFirst().isOpen(), "the other one has no more");
    assertEquals(14, open(second).size());
    assertEquals(0, connections.refused());
    assertEquals(MOST - KEPT, connections.descriptors());
  }

  @Test
  void shouldTakeFromAnotherOneWhereAllOfTheOneWithTheMostAreAtWork() {
    final List<Counted> first = new ArrayList<>();
    for (int i = 0; i < 15; i++) {
      first.add(client(1).begin());
    }
    final List<Counted> second = new ArrayList<>();
    for (int i = 0; i < 13; i++) {
      second.add(client(2));
    }
    fill(3);
    assertEquals(15, open(first).size());
    assertTrue(open(second).size() < 13);
    final Counted again = first.getFirst();
    again.idle();
    assertNotNull(client(3));
    assertFalse(again.isOpen(), "it was found at work before");
  }

  @Test
  void shouldTakeOneOfItsOwnForARequestOfAClientAlone() {
    final List<Counted> all = new ArrayList<>();
    for (int i = 0; i < MOST - KEPT; i++) {
      all.add(client(1));
    }
    for (int i = 0; i < KEPT - KEPT_OF_SERVERS; i++) {
      assertNotNull(server(all.getLast().begin()));
    }
    assertEquals(MOST - KEPT, open(all).size());
    assertNotNull(server(all.getLast()));
    assertFalse(all.getFirst().isOpen());
    assertEquals(MOST - KEPT - 1, open(all).size());
  }

  @Test
  void shouldCountWhatIsClosedOnce() {
    final Counted first = client(1);
    final Counted server = server(first.begin());
    first.channel.close();
    first.counted.release();
    first.counted.idle();
    assertFalse(first.counted.begin());
    assertEquals(1, connections.descriptors());
    assertEquals(0, connections.clientConnections());
    server.idle();
    server.channel.close();
    server.counted.release();
    assertEquals(0, connections.descriptors());
    assertEquals(MOST - KEPT, fill(1).size());
  }

  @Test
  void shouldCountClientsOutsideByTheEndpointThatTheyConnectTo() {
    while (connections.add(flow(0, 1), new EmbeddedChannel()) != null) {
      if (connections.closedIdle() == 1) {
        break;
      }
    }
    assertNotNull(connections.add(flow(0, 2), new EmbeddedChannel()));
    assertNotNull(connections.add(flow(1, 1), new EmbeddedChannel()));
    assertEquals(1, connections.closedIdle(), "both are other clients, with fewer");
    assertEquals(MOST - KEPT + 2, connections.descriptors());
  }

  @Test
  void shouldLogTheFirstRefusalAndThenOnceAMinute() {
    try (RecordedLog log = RecordedLog.of(ProxyConnections.class)) {
      final List<Counted> first = fill(3);
      assertEquals(List.of(refusal("a connection of endpoint 3", 28, 28, 1, 1)), log.take());
      while (connections.add(flow(0, 9), new EmbeddedChannel()) instanceof CountedConnection more) {
        more.begin();
      }
      ticker.advance(59_000, TimeUnit.MILLISECONDS);
      assertNull(client(3));
      assertEquals(List.of(), log.take());
      ticker.advance(1_000, TimeUnit.MILLISECONDS);
      assertNull(connections.add(flow(0, 9), new EmbeddedChannel()));
      assertEquals(
          List.of(refusal("a connection of clients outside to endpoint 9", 30, 2, 2, 3)),
          log.take());
      assertNull(client(3));
      assertEquals(List.of(), log.take());
      ticker.advance(60_000, TimeUnit.MILLISECONDS);
      assertNull(first.getFirst().counted.addServer());
      assertEquals(
          List.of(refusal("a connection to a server of endpoint 3", 30, 28, 2, 2)), log.take());
    }
  }

  private static String refusal(String what, int open, int own, int clients, int refused) {
    return ("WARN HTTP proxy: %s refused: %d of 32 descriptors are in use, %d of them by this"
            + " client; clients with connections: %d; %d refused since the last message")
        .formatted(what, open, own, clients, refused);
  }

  /** Endpoints come and go for as long as the proxy runs. */
  @Test
  void shouldForgetClientsThatHaveNoConnectionLeftOrGotNone() {
    for (int endpoint = 100; endpoint < 200; endpoint++) {
      final Counted client = client(endpoint).begin();
      final List<Counted> both = List.of(client, server(client));
      both.get(endpoint % 2).channel.close();
      both.get(1 - endpoint % 2).channel.close();
    }
    final Counted other = client(2).begin();
    final Counted left = server(other);
    other.channel.close();
    try (RecordedLog log = RecordedLog.of(ProxyConnections.class)) {
      fill(1);
      assertEquals(List.of(refusal("a connection of endpoint 1", 28, 27, 2, 1)), log.take());
      left.channel.close();
      ticker.advance(1, TimeUnit.MINUTES);
      fill(1);
      assertEquals(List.of(refusal("a connection of endpoint 1", 28, 28, 1, 1)), log.take());
      assertEquals(2 + 1 + 1, fill(3).size() + fill(4).size() + fill(5).size());
      assertNull(client(6));
      assertNull(client(7));
      ticker.advance(1, TimeUnit.MINUTES);
      assertNull(client(8));
      assertEquals(List.of(refusal("a connection of endpoint 8", 32, 0, 4, 6)), log.take());
    }
  }

  /** What is idle of a client that is not known could not be taken for others. */
  @Test
  void shouldKnowAClientThatHasComeBackThoughALateRequestEnds() {
    final Counted before = client(1);
    before.channel.close();
    final Counted late = server(before);
    final List<Counted> again = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      again.add(client(1));
    }
    late.channel.close();
    fill(2);
    fill(3);
    assertEquals(3, open(again).size());
  }

  @Test
  void shouldKnowAClientWhoseOnlyConnectionIsTakenForItsNextOne() {
    fill(1);
    fill(2);
    final Counted only = client(3);
    fill(4);
    final Counted next = client(3);
    assertFalse(only.isOpen());
    assertNotNull(client(5));
    assertFalse(next.isOpen());
  }

  /** A simple model says what is taken: it looks at all connections. */
  @Test
  void shouldTakeWhatTheModelTakes() {
    final long seed = System.nanoTime();
    final Random random = new Random(seed);
    final List<Counted> clients = new ArrayList<>();
    final List<Counted> servers = new ArrayList<>();
    for (int i = 0; i < 50_000; i++) {
      final String step = "seed " + seed + ", step " + i;
      final boolean isServer = random.nextInt(3) == 0 && !clients.isEmpty();
      final Counted of = isServer ? clients.get(random.nextInt(clients.size())) : null;
      final int endpoint = isServer ? of.client : 1 + random.nextInt(4);
      if (random.nextInt(3) == 0) {
        final Counted expected = expected(clients, servers, endpoint, isServer);
        final int before = connections.descriptors();
        final Counted added = isServer ? server(of) : client(endpoint);
        if (added == null) {
          assertNull(expected, step);
        } else {
          (isServer ? servers : clients).add(added);
          assertEquals(before + (expected == null ? 1 : 0), connections.descriptors(), step);
        }
        for (final List<Counted> all : List.of(clients, servers)) {
          all.stream().filter(one -> !one.isOpen()).forEach(one -> assertSame(expected, one, step));
          all.removeIf(one -> !one.channel.isOpen());
        }
        assertTrue(expected == null || !expected.isOpen(), step);
      } else {
        final List<Counted> all = random.nextBoolean() ? clients : servers;
        final Counted used = all.isEmpty() ? null : all.get(random.nextInt(all.size()));
        if (used != null && random.nextInt(20) == 0) {
          used.channel.close();
          all.remove(used);
        } else if (used != null && used.idleNs == null) {
          used.idle();
        } else if (used != null) {
          used.begin();
        }
      }
      assertEquals(clients.size() + servers.size(), connections.descriptors(), step);
      assertEquals(clients.size(), connections.clientConnections(), step);
      assertTrue(connections.descriptors() <= MOST, step);
    }
    clients.forEach(one -> one.channel.close());
    servers.forEach(one -> one.channel.close());
    assertEquals(0, connections.descriptors());
  }

  /** Returns what is to be taken for one more connection; null: nothing. */
  private Counted expected(
      List<Counted> clients, List<Counted> servers, int endpoint, boolean isServer) {
    final int free = MOST - clients.size() - servers.size();
    if (free > (isServer ? KEPT_OF_SERVERS : KEPT)) {
      return null;
    }
    final Counted idle = oldest(servers);
    final long own = own(clients, servers, endpoint);
    if (idle != null || free > 0 && (isServer ? own <= free : 2 * own < free)) {
      return idle;
    }
    final long large = isServer ? own : own + 1;
    return List.of(1, 2, 3, 4).stream()
        .filter(other -> other == endpoint || own(clients, servers, other) >= large)
        .sorted(
            Comparator.comparing((Integer other) -> other == endpoint)
                .thenComparing(other -> -own(clients, servers, other)))
        .map(other -> oldest(clients.stream().filter(one -> one.client == other).toList()))
        .filter(found -> found != null)
        .findFirst()
        .orElse(null);
  }

  private static long own(List<Counted> clients, List<Counted> servers, int endpoint) {
    return clients.stream().filter(one -> one.client == endpoint).count()
        + servers.stream().filter(one -> one.client == endpoint).count();
  }

  private static Counted oldest(List<Counted> of) {
    return of.stream()
        .filter(one -> one.idleNs != null)
        .min(Comparator.comparing(one -> one.idleNs))
        .orElse(null);
  }

  /** Threads use their connections while others look for one that is idle. */
  @Test
  void shouldNeverTakeWhatIsAtWork() throws Exception {
    final int threads = 4;
    final ProxyConnections few = new ProxyConnections(MOST);
    final DefaultEventLoop loop = new DefaultEventLoop();
    try (var pool = Executors.newFixedThreadPool(threads)) {
      final CountedConnection client = few.add(flow(1, 9), channel(loop));
      client.begin();
      final List<Callable<Integer>> uses = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        uses.add(() -> use(few, client, loop));
      }
      int taken = 0;
      for (final Future<Integer> done : pool.invokeAll(uses)) {
        taken += done.get();
      }
      assertTrue(taken > 1_000, taken + " taken");
      assertTrue(few.descriptors() <= MOST);
    } finally {
      loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).await();
    }
  }

  private static Channel channel(DefaultEventLoop loop) throws Exception {
    final LocalChannel channel = new LocalChannel();
    loop.register(channel).sync();
    return channel;
  }

  /** Returns how many of its connections were taken while they were idle. */
  private static int use(ProxyConnections all, CountedConnection client, DefaultEventLoop loop)
      throws Exception {
    final Random random = new Random();
    final CountedConnection[] own = new CountedConnection[MOST];
    int taken = 0;
    for (int i = 0; i < 20_000; i++) {
      final int next = random.nextInt(own.length);
      if (own[next] == null || !own[next].begin()) {
        taken += own[next] == null ? 0 : 1;
        own[next] = all.addServer(client.client());
        if (own[next] == null) {
          continue;
        }
        own[next].channel(channel(loop));
      }
      for (int look = 0; look < 50; look++) {
        assertTrue(own[next].begin(), "it is at work");
      }
      own[next].idle();
    }
    return taken;
  }
}
