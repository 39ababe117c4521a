package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.process.RequestRuleModel.End;
import agent.launcher.process.RequestRuleModel.Request;
import agent.launcher.process.RequestRuleModel.Rule;
import agent.launcher.process.RequestRuleModel.Verdict;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/**
 * Real requests between workloads, and to and from a host outside, get the answers of a model, on
 * random rules that replace each other.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Drequests.rules} sets the number of rule sets.
 */
@KernelTest
class AgentRandomRequestsKernelTest {
  private static final int RULE_SETS = Integer.getInteger("requests.rules", 300);
  private static final long SEED = Long.getLong("random.seed", 20261126L);
  private static final int CONNECTIONS = 5;

  /** Dropped, not judged, and judged at either end or both with either answer. */
  private static final int KINDS = 8;

  private static final int REQUESTS = 2;

  /** What passes is connected in less than a tenth of it. */
  private static final int DROPPED_AFTER_MS = 10;

  private final RequestRuleModel model = new RequestRuleModel(SEED);
  private final JsonMapper json = new JsonMapper();
  private final List<Host> hosts = new ArrayList<>();
  private final Map<String, Integer> seen = new TreeMap<>();
  private TestNode node;
  private AgentProcess agent;
  private List<Rule> rules;

  /** A host with its servers, one for each port. */
  private record Host(NetworkNamespace namespace, End end, List<HttpOrigin> servers) {}

  /** A connection that has been asked for, and must not come to be. */
  private record Pending(SocketChannel channel, String about) {}

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    final NetworkNamespace outside = WorldNetwork.connect(node);
    outside.ip("route add 10.210.0.0/24 via 192.0.2.1");
    outside.ip("-6 route add fd00:210::/96 via 2001:db8:2::1");
    agent = node.agent("--device=" + WorldNetwork.DEVICE);
    add("a", "x");
    add("b", "x");
    add("c", "y");
    add(
        outside,
        new End(null, WorldNetwork.ADDRESSES.getFirst(), WorldNetwork.ADDRESSES.getLast()));
  }

  private void add(String app, String tier) throws Exception {
    final TestWorkload workload = node.workload(agent, app, "app=" + app, "tier=" + tier);
    add(
        workload.namespace(),
        new End(Map.of("app", app, "tier", tier), workload.ipv4(), workload.ipv6()));
  }

  private void add(NetworkNamespace namespace, End end) throws Exception {
    final List<HttpOrigin> servers = new ArrayList<>();
    for (int i = 0; i < RequestRuleModel.PORTS; i++) {
      servers.add(HttpOrigin.start(namespace, RequestRuleModel.FIRST_PORT + i));
      node.keep(servers.getLast());
    }
    hosts.add(new Host(namespace, end, servers));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  void shouldAnswerEveryRequestAsTheModelSays() throws Exception {
    for (int i = 0; i < RULE_SETS; i++) {
      rules = model.rules();
      agent.expect(200, "PUT", "/policy?replace=true", written());
      final List<Pending> dropped = new ArrayList<>();
      try {
        for (int connection = 0; connection < CONNECTIONS; connection++) {
          connect(dropped);
        }
        assertDropped(dropped);
      } finally {
        for (final Pending pending : dropped) {
          pending.channel.close();
        }
      }
    }
    System.out.println(seen);
    assertEquals(2 * KINDS, seen.size(), seen::toString);
    seen.forEach((kind, count) -> assertTrue(count > RULE_SETS / 30, seen::toString));
  }

  private String written() {
    return json.writeValueAsString(rules.stream().map(Rule::written).toList());
  }

  private void connect(List<Pending> dropped) throws Exception {
    final Host client = model.pick(hosts);
    Host server = model.pick(hosts);
    while (server == client) {
      server = model.pick(hosts);
    }
    final boolean isIpv6 = model.isIpv6();
    final int port = model.port();
    final Verdict verdict = RequestRuleModel.verdict(rules, client.end, server.end, isIpv6, port);
    final String address = server.end.address(isIpv6);
    final String about =
        "-Drandom.seed=%d%nrules %s%n%s to %s, port %d"
            .formatted(SEED, written(), client.end, address, port);
    final String kind = isIpv6 ? "IPv6 " : "IPv4 ";
    if (!verdict.connects()) {
      final SocketChannel channel = client.namespace.run(SocketChannel::open);
      dropped.add(new Pending(channel, about));
      channel.configureBlocking(false);
      assertFalse(channel.connect(new InetSocketAddress(address, port)), about);
      seen.merge(kind + "dropped", 1, Integer::sum);
      return;
    }
    final HttpOrigin origin = server.servers.get(port - RequestRuleModel.FIRST_PORT);
    try (KeptConnection connection = KeptConnection.open(client.namespace, address, port)) {
      for (int i = 0; i < REQUESTS; i++) {
        final String answer = request(connection, origin, verdict, about);
        seen.merge(kind + verdict.judged() + answer, 1, Integer::sum);
      }
    } catch (IOException e) {
      throw new AssertionError(about, e);
    }
  }

  /** Sends a request, holds its answer and what its server got against the model. */
  private String request(
      KeptConnection connection, HttpOrigin origin, Verdict verdict, String about)
      throws Exception {
    final Request request = model.request();
    final Optional<Set<String>> colors = verdict.request(request);
    final long before = origin.count(request.line());
    final int status = connection.request(request.line(), request.fields());
    final String question = about + System.lineSeparator() + request;
    assertEquals(colors.isPresent() ? 200 : 403, status, question);
    assertEquals(before + (colors.isPresent() ? 1 : 0), origin.count(request.line()), question);
    if (colors.isPresent()) {
      final List<String> got = origin.lastFields().getOrDefault("X-color", List.of());
      assertEquals(colors.get(), new HashSet<>(got), question);
      assertEquals(colors.get().size(), got.size(), question);
    }
    return " " + status;
  }

  private static void assertDropped(List<Pending> dropped) throws Exception {
    if (!dropped.isEmpty()) {
      Thread.sleep(DROPPED_AFTER_MS);
    }
    for (final Pending pending : dropped) {
      assertFalse(pending.channel.finishConnect(), pending.about);
    }
  }
}
