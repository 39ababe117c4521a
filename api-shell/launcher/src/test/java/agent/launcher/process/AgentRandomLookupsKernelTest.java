package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.process.LookupRuleModel.Lookup;
import agent.launcher.process.LookupRuleModel.Rule;
import agent.launcher.process.LookupRuleModel.Verdict;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;
import tools.jackson.databind.json.JsonMapper;

/**
 * Real lookups of workloads get the answers of a model, on random rules that replace each other,
 * and so do connections to the addresses of names.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Dlookups.rules} sets the number of rule sets.
 */
@KernelTest
class AgentRandomLookupsKernelTest {
  private static final int RULE_SETS = Integer.getInteger("lookups.rules", 150);
  private static final long SEED = Long.getLong("random.seed", 20261126L);
  private static final int LOOKUPS = 4;
  private static final int RESOLVER_PORT = 53;

  /** What passes is answered in less than a fifth of it. */
  private static final int DROPPED_AFTER_MS = 20;

  /** Less than the time after which a client sends its first packet again. */
  private static final int FIRST_PACKET_MS = 800;

  /** For an answer to a question that is sent once. */
  private static final int ANSWER_MS = 10_000;

  private final LookupRuleModel model = new LookupRuleModel(SEED);
  private final JsonMapper json = new JsonMapper();
  private final List<TestWorkload> clients = new ArrayList<>();
  private final Set<String> learned = new HashSet<>();
  private final Map<String, Integer> seen = new TreeMap<>();
  private TestNode node;
  private AgentProcess agent;
  private List<Rule> rules;

  /** A lookup or a connection that must have no answer. */
  private record Pending(SelectableChannel channel, String about) {}

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    final NetworkNamespace outside = WorldNetwork.connect(node);
    final List<String> addresses = new ArrayList<>();
    final List<String> records = new ArrayList<>();
    for (final String name : LookupRuleModel.NAMES) {
      for (final boolean isIpv6 : List.of(false, true)) {
        final String address = LookupRuleModel.address(name, isIpv6);
        addresses.add("address add " + address + (isIpv6 ? "/64 dev eth0 nodad" : "/24 dev eth0"));
        records.add(address + " " + name);
      }
    }
    addresses.add("route add 10.210.0.0/24 via 192.0.2.1");
    addresses.add("-6 route add fd00:210::/96 via 2001:db8:2::1");
    addresses.forEach(outside::ip);
    node.keep(TcpEchoServer.start(outside, LookupRuleModel.SERVED_PORT));
    final NameServer resolver = NameServer.start(outside, String.join(",", WorldNetwork.ADDRESSES));
    node.keep(resolver);
    resolver.records(records.toArray(String[]::new));
    agent = node.agent("--device=" + WorldNetwork.DEVICE);
    for (final String app : LookupRuleModel.APPS) {
      clients.add(node.workload(agent, app, "app=" + app));
    }
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  void shouldAnswerEveryLookupAsTheModelSays() throws Exception {
    for (int i = 0; i < RULE_SETS; i++) {
      rules = model.rules();
      agent.expect(200, "PUT", "/policy?replace=true", written());
      final List<Pending> dropped = new ArrayList<>();
      try {
        for (int lookup = 0; lookup < LOOKUPS; lookup++) {
          look(dropped);
        }
        assertDropped(dropped);
      } finally {
        for (final Pending pending : dropped) {
          pending.channel.close();
        }
      }
    }
    System.out.println(seen);
    assertEquals(20, seen.size(), seen::toString);
    seen.forEach((kind, count) -> assertTrue(count > RULE_SETS / 60, seen::toString));
  }

  private String written() {
    return json.writeValueAsString(rules.stream().map(Rule::written).toList());
  }

  private void look(List<Pending> dropped) throws Exception {
    final Lookup lookup = model.lookup();
    final TestWorkload client = client(lookup.app());
    final Verdict verdict = LookupRuleModel.verdict(rules, lookup);
    final String about =
        "-Drandom.seed=%d%nrules %s%n%s%nlearned %s".formatted(SEED, written(), lookup, learned);
    seen.merge(lookup.transport() + " " + verdict, 1, Integer::sum);
    if (verdict == Verdict.DROPPED) {
      dropped.add(new Pending(send(client.namespace(), lookup), about));
    } else {
      final Message answer = ask(client.namespace(), lookup, about);
      final int code = verdict == Verdict.REFUSED ? Rcode.REFUSED : Rcode.NOERROR;
      assertEquals(code, answer.getRcode(), about);
      final List<Record> found = answer.getSection(Section.ANSWER);
      assertEquals(verdict == Verdict.REFUSED ? 0 : 1, found.size(), about);
      if (verdict == Verdict.ALLOWED) {
        learned.add(lookup.address());
      }
    }
    connect(model.isOther() ? model.lookup() : lookup, dropped);
  }

  private TestWorkload client(String app) {
    return clients.get(LookupRuleModel.APPS.indexOf(app));
  }

  /** Connects to an address of the name, whether or not an answer had it. */
  private void connect(Lookup lookup, List<Pending> dropped) throws Exception {
    final NetworkNamespace client = client(lookup.app()).namespace();
    final boolean passes = LookupRuleModel.connects(rules, lookup, learned);
    final String about =
        "-Drandom.seed=%d%nrules %s%nconnection to %s%nlearned %s"
            .formatted(SEED, written(), lookup, learned);
    seen.merge(
        "connection " + (lookup.isIpv6Address() ? "IPv6 " : "IPv4 ") + passes, 1, Integer::sum);
    if (passes) {
      assertEquals(
          TcpConnection.Outcome.CONNECTED,
          TcpConnection.attempt(
              client, lookup.address(), LookupRuleModel.SERVED_PORT, FIRST_PACKET_MS),
          about);
    } else {
      dropped.add(new Pending(begin(client, lookup.address(), LookupRuleModel.SERVED_PORT), about));
    }
  }

  private static SocketChannel begin(NetworkNamespace client, String address, int port)
      throws Exception {
    final SocketChannel channel = client.run(SocketChannel::open);
    channel.configureBlocking(false);
    assertFalse(channel.connect(new InetSocketAddress(address, port)));
    return channel;
  }

  private static String resolver(Lookup lookup) {
    return lookup.isIpv6() ? WorldNetwork.ADDRESSES.getLast() : WorldNetwork.ADDRESSES.getFirst();
  }

  private static byte[] question(Lookup lookup) throws IOException {
    final int type = lookup.isIpv6Address() ? Type.AAAA : Type.A;
    final Name name = Name.fromString(lookup.written() + ".");
    return Message.newQuery(Record.newRecord(name, type, DClass.IN)).toWire();
  }

  /** Sends a question, or begins the connection for it. */
  private static SelectableChannel send(NetworkNamespace client, Lookup lookup) throws Exception {
    if (lookup.isTcp()) {
      return begin(client, resolver(lookup), RESOLVER_PORT);
    }
    final DatagramChannel channel = client.run(() -> DatagramChannel.open());
    channel.configureBlocking(false);
    channel.connect(new InetSocketAddress(resolver(lookup), RESOLVER_PORT));
    channel.write(ByteBuffer.wrap(question(lookup)));
    return channel;
  }

  private static Message ask(NetworkNamespace client, Lookup lookup, String about)
      throws Exception {
    try {
      final byte[] question = question(lookup);
      final byte[] answer =
          lookup.isTcp() ? askByTcp(client, lookup, question) : askByUdp(client, lookup, question);
      assertEquals(ByteBuffer.wrap(question).getShort(), ByteBuffer.wrap(answer).getShort());
      final Message message = new Message(answer);
      assertEquals(lookup.written() + ".", message.getQuestion().getName().toString(), about);
      return message;
    } catch (IOException e) {
      throw new AssertionError(about, e);
    }
  }

  private static byte[] askByUdp(NetworkNamespace client, Lookup lookup, byte[] question)
      throws Exception {
    try (DatagramChannel channel = client.run(() -> DatagramChannel.open())) {
      channel.socket().setSoTimeout(ANSWER_MS);
      channel.connect(new InetSocketAddress(resolver(lookup), RESOLVER_PORT));
      channel.write(ByteBuffer.wrap(question));
      final DatagramPacket packet = new DatagramPacket(new byte[1500], 1500);
      channel.socket().receive(packet);
      return Arrays.copyOf(packet.getData(), packet.getLength());
    }
  }

  private static byte[] askByTcp(NetworkNamespace client, Lookup lookup, byte[] question)
      throws Exception {
    try (SocketChannel channel = client.run(SocketChannel::open)) {
      channel
          .socket()
          .connect(new InetSocketAddress(resolver(lookup), RESOLVER_PORT), FIRST_PACKET_MS);
      channel.socket().setSoTimeout(ANSWER_MS);
      channel.write(
          ByteBuffer.allocate(2 + question.length)
              .putShort((short) question.length)
              .put(question)
              .flip());
      final DataInputStream in = new DataInputStream(channel.socket().getInputStream());
      return in.readNBytes(in.readUnsignedShort());
    }
  }

  private static void assertDropped(List<Pending> dropped) throws Exception {
    if (!dropped.isEmpty()) {
      Thread.sleep(DROPPED_AFTER_MS);
    }
    for (final Pending pending : dropped) {
      if (pending.channel instanceof final SocketChannel connection) {
        assertFalse(connection.finishConnect(), pending.about);
      } else {
        final int read = ((ByteChannel) pending.channel).read(ByteBuffer.allocate(1500));
        assertEquals(0, read, pending.about);
      }
    }
  }
}
