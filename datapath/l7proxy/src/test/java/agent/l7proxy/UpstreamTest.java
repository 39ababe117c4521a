package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the proxy does when a server fails, is slow, or frames its responses in other ways. */
class UpstreamTest {
  private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

  private interface Use {
    void run(OriginServer server, ProxyBench bench, HttpSocket client) throws Exception;
  }

  private static void with(
      OriginServer.Script script, java.util.function.Consumer<HttpProxyContext> options, Use use)
      throws Exception {
    try (OriginServer server = new OriginServer(script);
        ProxyBench bench = new ProxyBench(server.port(), options);
        HttpSocket client = bench.client()) {
      use.run(server, bench, client);
    }
  }

  /** Binds the socket, so that no other one listens on its port. */
  private static int boundPort(Socket socket) throws IOException {
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    return socket.getLocalPort();
  }

  @Test
  void shouldAnswer503AfterAllAttemptsWhereNoServerListens() throws Exception {
    try (Socket notListening = new Socket();
        ProxyBench bench = new ProxyBench(boundPort(notListening));
        HttpSocket client = bench.client()) {
      bench.serverEndpoint = 9;
      try (HttpSocket joining = bench.client()) {
        assertEquals(503, joining.get("/").status());
      }
      assertEquals(4, bench.joined.size());
      client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi");
      assertEquals(503, client.response().status());
      assertEquals(503, client.get("/again").status());
      assertEquals(Verdict.ERROR, bench.record().verdict());
      final RedirectStatistics counted = bench.proxy.redirectCounters().statistics(7).getFirst();
      assertEquals(new Messages(3, 0, 0, 0), counted.requests());
      assertEquals(new Messages(0, 0, 0, 3), counted.responses());
    }
  }

  /** The node takes the address for something else than what the datapath has judged. */
  @Test
  void shouldNotConnectToAServerThatIsNotWhatWasJudged() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send(OK);
        },
        context -> {},
        (server, bench, client) -> {
          assertEquals(200, client.get("/").status());
          bench.refusal = "127.0.0.1 is not a host address";
          assertEquals(503, client.get("/").status());
          bench.serverEndpoint = 9;
          try (HttpSocket joining = bench.client()) {
            assertEquals(503, joining.get("/").status());
          }
          assertEquals(1, server.connections.get());
          bench.refusal = null;
          assertEquals(200, client.get("/").status());
        });
  }

  @Test
  void shouldCountARequestOnceThatIsForwardedAtALaterAttempt() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send(OK);
        },
        context -> {},
        (server, bench, client) -> {
          bench.serverEndpoint = 9;
          bench.failingJoins.set(2);
          try (HttpSocket joining = bench.client()) {
            assertEquals(200, joining.get("/").status());
          }
          assertEquals(3, bench.joined.size());
          bench.record();
          final RedirectStatistics counted =
              bench.proxy.redirectCounters().statistics(7).getFirst();
          assertEquals(new Messages(1, 1, 0, 0), counted.requests());
          assertEquals(new Messages(1, 1, 0, 0), counted.responses());
        });
  }

  @Test
  void shouldOpenANewConnectionWhenTheServerHasClosed() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send(OK);
        },
        context -> {},
        (server, bench, client) -> {
          for (int i = 1; i < 6; i++) {
            assertEquals("ok", client.get("/").text());
            assertEquals(i, server.connections.get());
          }
        });
  }

  @Test
  void shouldRepeatOnlyWhatIsIdempotent() throws Exception {
    final var count = new java.util.concurrent.atomic.AtomicInteger();
    with(
        connection -> {
          connection.request();
          if (count.incrementAndGet() % 3 == 0) {
            connection.send(OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
          }
        },
        context -> {},
        (server, bench, client) -> {
          assertEquals("ok", client.get("/").text());
          assertEquals(3, server.connections.get());
          client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
          assertEquals(503, client.response().status());
          client.send("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx");
          assertEquals(503, client.response().status());
          assertEquals(5, server.connections.get());
        });
  }

  /** Where the machine is too busy for the third answer, a longer time shows the same. */
  @Test
  void shouldRepeatWhatIsNotAnsweredInTime() throws Exception {
    String seen = "";
    for (int timeoutMs = 50; !seen.equals("3 connections: ok") && timeoutMs <= 5_000; ) {
      seen = connectionsUntilTheThirdAnswers(timeoutMs);
      timeoutMs *= 10;
    }
    assertEquals("3 connections: ok", seen);
  }

  private static String connectionsUntilTheThirdAnswers(int timeoutMs) throws Exception {
    final CountDownLatch end = new CountDownLatch(1);
    final var count = new java.util.concurrent.atomic.AtomicInteger();
    final CompletableFuture<String> seen = new CompletableFuture<>();
    with(
        connection -> {
          connection.request();
          if (count.incrementAndGet() < 3) {
            end.await();
          }
          connection.send(OK);
        },
        context -> context.retryTimeout(Duration.ofMillis(timeoutMs)),
        (server, bench, client) -> {
          final String text = client.get("/").text();
          seen.complete(server.connections.get() + " connections: " + text);
          end.countDown();
        });
    return seen.join();
  }

  @Test
  void shouldAnswer504WhenTheRequestTakesTooLong() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.line();
        },
        context -> context.requestTimeout(Duration.ofMillis(100)),
        (server, bench, client) -> {
          assertEquals(504, client.get("/").status());
          assertEquals(504, client.get("/").status());
          assertEquals(504, bench.record().status());
        });
  }

  /** Where the machine is too busy for half of the answer, a longer time shows the same. */
  @Test
  void shouldEndAStreamWithoutTraffic() throws Exception {
    boolean isEnded = false;
    for (int idleMs = 100; !isEnded && idleMs <= 10_000; idleMs *= 10) {
      isEnded = isEndedAfterHalfAnAnswer(idleMs);
    }
    assertTrue(isEnded);
  }

  /** Returns false where not even the head has come in time. */
  private static boolean isEndedAfterHalfAnAnswer(int idleMs) throws Exception {
    final CompletableFuture<Boolean> isEnded = new CompletableFuture<>();
    with(
        connection -> {
          connection.request();
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
          connection.line();
        },
        context -> context.idleTimeout(Duration.ofMillis(idleMs)),
        (server, bench, client) -> {
          try {
            assertEquals(504, client.get("/").status());
            isEnded.complete(false);
          } catch (SocketTimeoutException notEnded) {
            throw notEnded;
          } catch (IOException ended) {
            isEnded.complete(true);
          }
        });
    return isEnded.join();
  }

  @Test
  void shouldNotPassATruncatedResponseAsAWholeOne() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        },
        context -> {},
        (server, bench, client) -> {
          client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
          assertEquals(200, client.head().status());
          assertThrows(
              IOException.class,
              () -> {
                for (String line = client.line(); !"0".equals(line); line = client.line()) {
                  if (line == null) {
                    throw new IOException("ended");
                  }
                }
              });
          assertEquals(Verdict.ERROR, bench.record().verdict());
        });
  }

  @Test
  void shouldFrameAResponseThatEndsWithItsConnection() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
        },
        context -> {},
        (server, bench, client) -> {
          assertEquals("until the end", client.get("/").text());
          assertEquals("until the end", client.get("/").text());
        });
  }

  @Test
  void shouldSendAChunkedResponseToAnOldClientWithoutChunks() throws Exception {
    with(
        connection -> {
          final String asked = connection.request().start();
          connection.send(
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
                  .formatted(asked.length(), asked));
          connection.request(); // it is kept until the proxy closes it
        },
        context -> {},
        (server, bench, client) -> {
          final HttpSocket.Message answer = client.send("GET / HTTP/1.0\r\n\r\n").response();
          assertEquals(List.of("connection: close"), answer.fields());
          assertEquals("GET / HTTP/1.1", answer.text());
        });
  }

  @Test
  void shouldPassInformationalResponsesAndTheBodyAfterThem() throws Exception {
    with(
        connection -> {
          connection.head();
          connection.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
          connection.send("HTTP/1.1 100 Continue\r\n\r\n");
          connection.exactly(5);
          connection.send(OK);
        },
        context -> {},
        (server, bench, client) -> {
          client.send(
              "PUT / HTTP/1.1\r\n"
                  + "Host: a.test\r\n"
                  + "Content-Length: 5\r\n"
                  + "Expect: 100-continue\r\n\r\n");
          assertEquals(103, client.response().status());
          assertEquals(100, client.response().status());
          assertEquals("ok", client.send("hello").response().text());
        });
  }

  @Test
  void shouldPassAnEarlyResponseAndTheRestOfTheRequest() throws Exception {
    with(
        connection -> {
          connection.head();
          connection.send(OK);
          connection.exactly(5);
          connection.request();
          connection.send(OK);
        },
        context -> {},
        (server, bench, client) -> {
          client.send("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n");
          assertEquals("ok", client.response().text());
          client.send("hello");
          assertEquals("ok", client.get("/").text());
          assertEquals(1, server.connections.get());
        });
  }

  @Test
  void shouldAnswer502ForWhatIsNoResponse() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send("SSH-2.0-x\r\n\r\n");
          connection.line();
        },
        context -> {},
        (server, bench, client) -> assertEquals(502, client.get("/").status()));
  }

  @Test
  void shouldNotTakeAResponseThatComesBeforeItsRequest() throws Exception {
    with(
        connection -> {
          connection.request();
          connection.send(OK + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake");
          connection.request();
          connection.send(OK);
        },
        context -> {},
        (server, bench, client) -> {
          assertEquals("ok", client.get("/1").text());
          assertEquals("ok", client.get("/2").text());
          assertTrue(server.connections.get() <= 2);
        });
  }

  @Test
  void shouldCloseTheServerWhenTheClientResets() throws Exception {
    final CountDownLatch closed = new CountDownLatch(1);
    with(
        connection -> {
          connection.request();
          connection.line();
          closed.countDown();
        },
        context -> {},
        (server, bench, client) -> {
          client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
          while (server.connections.get() == 0) {
            Thread.onSpinWait();
          }
          client.socket.setSoLinger(true, 0);
          client.close();
          assertTrue(closed.await(10, TimeUnit.SECONDS));
          assertEquals(Verdict.ERROR, bench.record().verdict());
        });
  }

  @Test
  void shouldAnswer503WhereItHasNoAddressForAnEndpointOrCannotJoin() throws Exception {
    with(
        HttpSocket::request,
        context -> context.retries(0),
        (server, bench, client) -> {
          bench.serverEndpoint = 9;
          for (final Optional<IpAddress> own :
              List.of(Optional.<IpAddress>empty(), Optional.of(IpAddress.parse("192.0.2.1")))) {
            bench.own = own;
            try (HttpSocket asking = bench.client()) {
              assertEquals(503, asking.get("/").status());
            }
          }
          assertEquals(List.of(), bench.joined);
          bench.own = Optional.of(ProxyBench.LOOPBACK);
          bench.joins = null;
          try (HttpSocket asking = bench.client()) {
            assertEquals(503, asking.get("/").status());
          }
          assertEquals(bench.joined.getFirst(), bench.left.poll(10, TimeUnit.SECONDS));
          assertEquals(0, server.connections.get());
        });
  }

  /** The time limit is for this attempt, not for what the answer of the datapath is used for. */
  @Test
  void shouldAnswer503WhereItDoesNotJoinInTime() throws Exception {
    with(
        HttpSocket::request,
        context -> context.retries(0).connectTimeout(Duration.ofMillis(50)),
        (server, bench, client) -> {
          bench.serverEndpoint = 9;
          bench.joins = new CompletableFuture<>();
          try (HttpSocket asking = bench.client()) {
            assertEquals(503, asking.get("/").status());
          }
          assertEquals(bench.joined.getFirst(), bench.left.poll(10, TimeUnit.SECONDS));
          assertFalse(bench.joins.isDone());
          assertEquals(0, server.connections.get());
        });
  }

  /** Each attempt has the time of the option, and no other one. */
  @Test
  void shouldWaitForEachJoinNoLongerThanTheOptionSays() throws Exception {
    with(
        HttpSocket::request,
        context -> context.retries(3).connectTimeout(Duration.ofMillis(50)),
        (server, bench, client) -> {
          bench.serverEndpoint = 9;
          bench.joins = new CompletableFuture<>();
          final long beginNs = System.nanoTime();
          try (HttpSocket asking = bench.client()) {
            assertEquals(503, asking.get("/").status());
          }
          final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
          assertTrue(tookMs >= 200 && tookMs < 3_500, tookMs + " ms");
        });
  }

  /** What waits for the datapath is the event loop's, also where another thread completes it. */
  @Test
  void shouldAnswerOnTheEventLoopWhereItDoesNotJoinInTime() throws Exception {
    final CompletableFuture<String> thread = new CompletableFuture<>();
    with(
        HttpSocket::request,
        context ->
            context
                .retries(0)
                .connectTimeout(Duration.ofMillis(50))
                .listener(record -> thread.complete(Thread.currentThread().getName())),
        (server, bench, client) -> {
          bench.serverEndpoint = 9;
          bench.joins = new CompletableFuture<>();
          try (HttpSocket asking = bench.client()) {
            assertEquals(503, asking.get("/").status());
          }
          final String name = thread.get(10, TimeUnit.SECONDS);
          assertTrue(name.startsWith("l7-http-"), name);
        });
  }

  @Test
  void shouldConnectToAnEndpointOfIpv6FromTheAddressOfItsFamily() throws Exception {
    try (ServerSocket ipv6 = new ServerSocket(0, 8, InetAddress.getByName("::1"));
        ProxyBench bench = new ProxyBench(ipv6.getLocalPort())) {
      ipv6.setSoTimeout(10_000);
      bench.serverEndpoint = 9;
      bench.server = IpAddress.parse("::1");
      bench.own = Optional.empty();
      bench.ownIpv6 = Optional.of(bench.server);
      try (HttpSocket client = bench.client()) {
        client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        try (HttpSocket connection = new HttpSocket(ipv6.accept())) {
          connection.request();
          connection.send(OK);
          assertEquals("ok", client.response().text());
        }
      }
    }
  }

  @Test
  void shouldPassResponsesWithAHeaderOfUpTo64KiB() {
    final String head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: %s\r\n\r\n";
    final String longest = head.formatted("x".repeat(64_000));
    assertTrue(longest.equals(answerWhereItIs(longest)), "it goes on as it came");
    assertTrue(answerWhereItIs(head.formatted("x".repeat(66_000))).startsWith("HTTP/1.1 502 "));
  }

  /** Returns what the client gets where this is the response of the server. */
  private static String answerWhereItIs(String response) {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(ExchangeBench.GET);
    server.receive(response);
    return bench.client.sent();
  }

  @Test
  void shouldKeepAnotherConnectionInPlaceOfOneThatHasClosed() {
    final ExchangeBench bench = new ExchangeBench();
    bench.server().close();
    final EmbeddedSocket next = bench.counted(new EmbeddedSocket());
    bench.connection.upstream().keep(next);
    assertTrue(next.isOpen());
  }

  @Test
  void shouldKeepOneConnectionOfHttp1OrNineForStreams() {
    final ExchangeBench bench = new ExchangeBench();
    final Upstream upstream = bench.connection.upstream();
    final EmbeddedSocket first = bench.server();
    final EmbeddedSocket more = bench.counted(new EmbeddedSocket());
    upstream.keep(more);
    assertFalse(more.isOpen());
    upstream.share();
    final List<EmbeddedSocket> shared = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      shared.add(bench.counted(new EmbeddedSocket()));
      upstream.keep(shared.getLast());
    }
    final EmbeddedSocket last = bench.counted(new EmbeddedSocket());
    upstream.keep(last);
    assertFalse(last.isOpen());
    assertTrue(first.isOpen());
    assertTrue(shared.stream().allMatch(EmbeddedSocket::isOpen));
    bench.client.close();
    assertFalse(first.isOpen());
    assertTrue(shared.stream().noneMatch(EmbeddedSocket::isOpen));
    final EmbeddedSocket late = bench.counted(new EmbeddedSocket());
    upstream.keep(late);
    assertFalse(late.isOpen());
  }

  /** With io_uring the connection of the client ends later than it is reset. */
  @Test
  void shouldResetAllConnectionsToTheServerAndKeepNoOther() {
    final ExchangeBench bench = new ExchangeBench();
    final Upstream upstream = bench.connection.upstream();
    upstream.share();
    final List<EmbeddedSocket> all = new ArrayList<>(List.of(bench.server()));
    for (int i = 0; i < 2; i++) {
      all.add(bench.counted(new EmbeddedSocket()));
      upstream.keep(all.getLast());
    }
    upstream.reset();
    for (final EmbeddedSocket each : all) {
      assertFalse(each.isOpen());
      assertEquals(0, each.lingerSec);
    }
    final EmbeddedSocket late = bench.counted(new EmbeddedSocket());
    upstream.keep(late);
    assertFalse(late.isOpen());
    assertTrue(bench.client.isOpen());
  }

  /** A connection in memory cannot be opened; it is asked for all the same. */
  @Test
  void shouldAnswer503AtOnceWhereThereIsNoDescriptorForAConnection() {
    final ExchangeBench bench = new ExchangeBench(context -> context.retries(3));
    final EmbeddedSocket server = bench.server();
    bench.counted.begin();
    final List<CountedConnection> others = new ArrayList<>();
    for (CountedConnection more = bench.counted.addServer();
        more != null;
        more = bench.counted.addServer()) {
      others.add(more);
    }
    server.runPendingTasks();
    assertFalse(server.isOpen(), "it was idle");
    final long refused = bench.connections.refused();
    ask(bench);
    assertEquals(refused + 1, bench.connections.refused(), "there is no other attempt");
    assertEquals(List.of(503), statuses(bench));
    others.forEach(CountedConnection::release);
    bench.records.clear();
    ask(bench);
    assertEquals(refused + 1, bench.connections.refused());
    assertEquals(List.of(503), statuses(bench), "after all attempts");
    assertEquals(1, bench.connections.descriptors(), "what cannot be opened is not counted");
  }

  @Test
  void shouldAnswer503ForAllStreamsWhereThereIsNoDescriptor() {
    final ExchangeBench bench = new ExchangeBench(context -> {}, true, true);
    bench.counted.begin();
    while (bench.counted.addServer() != null) {
      // all that there may be
    }
    ask(bench);
    ask(bench);
    assertEquals(List.of(503, 503), statuses(bench));
  }

  private static List<Integer> statuses(ExchangeBench bench) {
    return bench.records.stream().map(RequestRecord::status).toList();
  }

  private static void ask(ExchangeBench bench) {
    new Exchange(bench.handler, bench.client).start(ExchangeBench.head(), true);
    bench.client.runPendingTasks();
  }

  @Test
  void shouldAnswer503WhereAConnectionOfHttp2TakesNoStream() {
    final ExchangeBench bench = new ExchangeBench(context -> {}, true, true);
    bench.connection.upstream().keep(bench.counted(new EmbeddedSocket()));
    ask(bench);
    assertEquals(503, bench.records.getFirst().status());
  }

  /** A descriptor is taken of what is idle alone. */
  @Test
  void shouldBeIdleWithEachConnectionThatStreamsShare() {
    final ExchangeBench bench = new ExchangeBench();
    bench.connection.upstream().share();
    final List<EmbeddedSocket> all = List.of(bench.server(), bench.counted(new EmbeddedSocket()));
    bench.connection.upstream().keep(all.getLast());
    for (final EmbeddedSocket each : all) {
      assertTrue(CountedConnection.of(each).take());
    }
  }
}
