package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Type;

/**
 * Requests and questions while the policy changes every 100 ms: each is judged by rules that were
 * in force between its start and its end. {@code soak.seconds} is the time that it takes; from two
 * minutes on, the memory of the agent is compared, too.
 */
@KernelTest
class ProxySoakKernelTest {
  private static final int PORT = 8080;
  private static final long SECONDS = Long.getLong("soak.seconds", 15);
  private static final long SECONDS_FOR_MEMORY = 120;
  private static final int CHANGE_MS = 100;
  private static final long LOAD_SECONDS = 30;
  private static final int RESET = 0;
  private static final int REQUESTS_OF_A_CONNECTION = 50;
  private static final String NAME_SERVER = WorldNetwork.ADDRESSES.getFirst();

  private final RulesInForce rules = new RulesInForce();
  private final List<Long> residentKb = new ArrayList<>();
  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;
  private long endNs;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    final NetworkNamespace world = WorldNetwork.connect(node);
    agent = node.agent("--device=" + WorldNetwork.DEVICE);
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(HttpOrigin.start(server.namespace(), PORT));
    final NameServer names = NameServer.start(world, NAME_SERVER);
    node.keep(names);
    names.records("198.51.100.1 even.example.com", "198.51.100.2 odd.example.com");
    change();
    endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private boolean isOver() {
    return System.nanoTime() - endNs >= 0;
  }

  /** Replaces the rules by those of the next number. */
  private void change() throws Exception {
    final String which = RulesInForce.which(rules.begin());
    agent.expect(
        200,
        "PUT",
        "/policy?replace=true",
        """
        [{"labels": [{"key": "name", "value": "soak"}],
          "endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"toPorts": [
           {"ports": [{"port": "%d", "protocol": "TCP"}],
            "rules": {"http": [{"path": "/%s"}, {"path": "/always"}]}}]}]},
         {"labels": [{"key": "name", "value": "soak"}],
          "endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
           {"toEndpoints": [{"matchLabels": {"app": "server"}}]},
           {"toCIDR": ["%s/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "UDP"}],
            "rules": {"dns": [{"matchName": "%s.example.com"}]}}]}]}]
        """
            .formatted(PORT, which, NAME_SERVER, which));
    rules.end();
  }

  private Void changeRules() throws Exception {
    for (int i = 1; !isOver(); i++) {
      Thread.sleep(CHANGE_MS);
      change();
      if (i % (1000 / CHANGE_MS) == 0) {
        residentKb.add(residentKb());
      }
    }
    return null;
  }

  private long residentKb() throws Exception {
    final String status = Files.readString(Path.of("/proc/" + agent.pid() + "/status"));
    return Long.parseLong(status.replaceAll("(?s).*VmRSS:\\s*(\\d+) kB.*", "$1"));
  }

  private Tally askServer(String address) throws Exception {
    final Tally tally = new Tally();
    for (int i = 0; !isOver(); ) {
      try (KeptConnection connection = KeptConnection.open(client.namespace(), address, PORT)) {
        do {
          final boolean isEven = i % 2 == 0;
          final long first = rules.answered();
          i++;
          final int status = request(connection, isEven, first);
          if (status == RESET) {
            break;
          }
          tally.add(rules.of(isEven, first), status == 200, status == 403, "status " + status);
        } while (i % REQUESTS_OF_A_CONNECTION != 0 && !isOver());
      }
    }
    return tally;
  }

  /** A request that a change denies while it is under way is reset, with its connection. */
  private int request(KeptConnection connection, boolean isEven, long first) throws IOException {
    try {
      return connection.request("GET /" + RulesInForce.which(isEven ? 0 : 1));
    } catch (IOException reset) {
      if (rules.of(isEven, first) != Expected.EITHER) {
        throw reset;
      }
      return RESET;
    }
  }

  private Tally askNameServer() throws Exception {
    final Tally tally = new Tally();
    try (DatagramSocket socket =
        client
            .namespace()
            .run(
                () -> {
                  final DatagramSocket opened = new DatagramSocket();
                  opened.connect(InetAddress.getByName(NAME_SERVER), 53);
                  return opened;
                })) {
      socket.setSoTimeout(8000);
      final byte[] octets = new byte[512];
      for (int i = 0; !isOver(); i++) {
        Thread.sleep(1); // within the share of an endpoint, beyond which datagrams are dropped
        final Name name = Name.fromString(RulesInForce.which(i) + ".example.com.");
        final byte[] question =
            Message.newQuery(Record.newRecord(name, Type.A, DClass.IN)).toWire();
        final long first = rules.answered();
        socket.send(new DatagramPacket(question, question.length));
        final DatagramPacket packet = new DatagramPacket(octets, octets.length);
        socket.receive(packet);
        final Message answer = new Message(octets);
        final int code = answer.getRcode();
        tally.add(
            rules.of(i % 2 == 0, first),
            code == Rcode.NOERROR && answer.getSection(1).size() == 1,
            code == Rcode.REFUSED,
            answer.toString());
      }
    }
    return tally;
  }

  /** Keeps eight connections busy, in runs that a command may take; returns what each printed. */
  private List<String> load() {
    final String url = "http://" + server.ipv4() + ":" + PORT + "/always";
    final List<String> printed = new ArrayList<>();
    for (long left = SECONDS; left > 0; left -= LOAD_SECONDS) {
      final String time = "-d" + Math.min(left, LOAD_SECONDS) + "s";
      printed.add(
          client.namespace().attempt("wrk", "-t1", "-c8", "--timeout", "10s", time, url).output());
    }
    return printed;
  }

  @Test
  @Timeout(value = 24, unit = TimeUnit.HOURS)
  void shouldJudgeByTheRulesOfTheTime() throws Exception {
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      final Future<Void> changes = threads.submit(this::changeRules);
      final Future<List<String>> load = threads.submit(this::load);
      final List<Future<Tally>> tallies = new ArrayList<>();
      for (final Callable<Tally> each :
          List.<Callable<Tally>>of(
              () -> askServer(server.ipv4()),
              () -> askServer(server.ipv6()),
              this::askNameServer)) {
        tallies.add(threads.submit(each));
      }
      changes.get();
      for (final Future<Tally> tally : tallies) {
        tally.get().check();
      }
      for (final String served : load.get()) {
        assertTrue(served.contains(" requests in "), served);
        assertFalse(served.contains("Non-2xx"), served);
        assertFalse(served.contains("Socket errors"), served);
      }
    }
    System.out.printf(
        "soak: %d changes of rules in %d s, resident %s kB%n",
        rules.answered(), SECONDS, residentKb.isEmpty() ? "-" : residentKb.getLast());
    if (SECONDS >= SECONDS_FOR_MEMORY) {
      final int quarter = residentKb.size() / 4;
      final long early = median(residentKb.subList(quarter, 2 * quarter));
      final long late = median(residentKb.subList(3 * quarter, residentKb.size()));
      assertTrue(late < early + early / 10, early + " kB, later " + late + " kB");
    }
  }

  private static long median(List<Long> values) {
    return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
  }

  /** The numbers of the rules: those that a change has begun with, and those that are answered. */
  private static final class RulesInForce {
    private volatile long begun = -1;
    private volatile long ended = -1;

    static String which(long number) {
      return number % 2 == 0 ? "even" : "odd";
    }

    long begin() {
      begun = begun + 1;
      return begun;
    }

    void end() {
      ended = begun;
    }

    long answered() {
      return ended;
    }

    /** Returns what the rules say that were in force since then. */
    Expected of(boolean isEven, long first) {
      final long last = begun;
      if (last != first) {
        return Expected.EITHER;
      }
      return isEven == (first % 2 == 0) ? Expected.ALLOWED : Expected.DENIED;
    }
  }

  private enum Expected {
    ALLOWED,
    DENIED,
    EITHER
  }

  /** How many were judged how, of one client. */
  private static final class Tally {
    private long allowed;
    private long denied;

    void add(Expected expected, boolean isAllowed, boolean isDenied, String shown) {
      assertTrue(isAllowed || isDenied, shown);
      switch (expected) {
        case ALLOWED -> {
          assertTrue(isAllowed, "allowed by the rules: " + shown);
          allowed++;
        }
        case DENIED -> {
          assertTrue(isDenied, "denied by the rules: " + shown);
          denied++;
        }
        case EITHER -> {}
      }
    }

    void check() {
      assertEquals(allowed, denied, (allowed + denied) / 2.0, "both occur");
      assertTrue(allowed > 10 && denied > 10, allowed + " allowed, " + denied + " denied");
    }
  }
}
