package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsObserver.Verdict;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Opcode;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

class DnsProxyUdpTest {
  private static final String WWW = "www.example.com.";
  private static final String ZONE = "www.example.com. 60 IN A 192.0.2.7\n";

  private ProxyRig rig;

  @BeforeEach
  void open() throws IOException {
    rig = new ProxyRig();
    rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, ZONE));
  }

  @AfterEach
  void close() throws IOException {
    rig.close();
  }

  private static byte[] withIdentifier(byte[] message, int identifier) {
    final byte[] copy = message.clone();
    copy[0] = (byte) (identifier >> 8);
    copy[1] = (byte) identifier;
    return copy;
  }

  private static int code(byte[] message) {
    return message[3] & 0xf;
  }

  private byte[] asked(byte[] message) throws IOException {
    try (ProxyRig.Udp client = rig.new Udp()) {
      return client.ask(message);
    }
  }

  @Test
  void shouldPassQuestionAndAnswerUnchangedButForTheIdentifier() throws Exception {
    rig.start();
    final Message message = Message.newQuery(Record.newRecord(name("wWw.ExAmPlE.cOm."), 1, 1));
    message.getHeader().setFlag(Flags.CD);
    message.addRecord(new OPTRecord(1400, 0, 0, 1 << 15), Section.ADDITIONAL);
    final byte[] question = withIdentifier(message.toWire(), 0x1234);
    final byte[] answer = asked(question);
    final byte[] sent = rig.server.questions.getFirst();
    assertArrayEquals(question, withIdentifier(sent, 0x1234));
    assertArrayEquals(withIdentifier(ScriptedServer.answer(sent, ZONE), 0x1234), answer);
    assertEquals(1, rig.count(DnsCounter.RECEIVED));
    assertEquals(1, rig.count(DnsCounter.FORWARDED));
    await(() -> !rig.events.isEmpty());
    final DnsObserver.Event event = rig.events.getFirst();
    assertEquals(List.of(IpAddress.parse("192.0.2.7")), event.addresses());
    assertEquals(
        WWW + " 1 0 FORWARDED 60",
        "%s %d %d %s %d"
            .formatted(
                event.name(), event.type(), event.responseCode(), event.verdict(), event.ttlSec()));
  }

  private static Name name(String text) throws IOException {
    return Name.fromString(text);
  }

  @Test
  void shouldUseOtherIdentifiersAndPortsThanTheClients() throws Exception {
    rig.start();
    final Set<Integer> identifiers = new TreeSet<>();
    final Set<Integer> ports = new TreeSet<>();
    for (int i = 0; i < 50; i++) {
      asked(withIdentifier(question(WWW), 1));
    }
    rig.server.questions.forEach(sent -> identifiers.add(DnsQuestion.identifierOf(sent)));
    rig.server.askers.forEach(from -> ports.add(((InetSocketAddress) from).getPort()));
    assertTrue(identifiers.size() > 45, identifiers.toString());
    assertTrue(ports.size() > 40, ports.toString());
  }

  /** The node takes the address for something else than what the datapath has judged. */
  @Test
  void shouldNotAskAServerThatIsNotWhatWasJudged() throws Exception {
    rig.start();
    rig.redirect.refusal = "127.0.0.1 is not a host address";
    assertEquals(Rcode.SERVFAIL, code(asked(question(WWW))));
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      assertEquals(Rcode.SERVFAIL, code(client.receive()));
    }
    assertEquals(List.of(), rig.server.questions);
    rig.redirect.refusal = null;
    assertEquals(Rcode.NOERROR, code(asked(question(WWW))));
  }

  @Test
  void shouldRefuseADeniedNameWithoutAskingTheServer() throws Exception {
    rig.start();
    rig.denied.add("evil.example.com");
    final byte[] answer = asked(withIdentifier(question("EVIL.example.com."), 5));
    assertEquals(Rcode.REFUSED, code(answer));
    assertEquals(5, DnsQuestion.identifierOf(answer));
    assertEquals(name("EVIL.example.com."), new Message(answer).getQuestion().getName());
    assertTrue(new Message(answer).getHeader().getFlag(Flags.QR));
    assertEquals(List.of(), rig.server.questions);
    assertEquals(1, rig.count(DnsCounter.DENIED));
    await(() -> !rig.events.isEmpty());
    assertEquals(Verdict.DENIED, rig.events.getFirst().verdict());
  }

  @Test
  void shouldAnswerADeniedNameAsTheOptionSaysWithTheOptRecordOfTheClient() throws Exception {
    rig.start(rig.context().deniedIsNameError(true));
    rig.denied.add("evil.example.com");
    final Message question =
        Message.newQuery(Record.newRecord(name("evil.example.com."), Type.A, DClass.IN));
    assertEquals(null, new Message(asked(question.toWire())).getOPT());
    question.addRecord(new OPTRecord(4096, 0, 0, 1 << 15), Section.ADDITIONAL);
    final Message answer = new Message(asked(question.toWire()));
    assertEquals(Rcode.NXDOMAIN, answer.getRcode());
    assertEquals(1232, answer.getOPT().getPayloadSize());
    assertEquals(1 << 15, answer.getOPT().getFlags());
  }

  @Test
  void shouldTellOfMalformedQuestionsAndDropWhatIsNone() throws Exception {
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      final byte[] good = question(WWW);
      assertEquals(Rcode.FORMERR, code(client.ask(Arrays.copyOf(good, good.length - 1))));
      assertEquals(Rcode.FORMERR, code(client.ask(Arrays.copyOf(good, 12))));
      final byte[] two = good.clone();
      two[5] = 2;
      assertEquals(Rcode.FORMERR, code(client.ask(two)));
      final byte[] compressed = good.clone();
      compressed[12] = (byte) 0xc0;
      assertEquals(Rcode.FORMERR, code(client.ask(compressed)));
      final byte[] update = good.clone();
      update[2] = Opcode.UPDATE << 3;
      assertEquals(Rcode.NOTIMP, code(client.ask(update)));
      assertEquals(Rcode.REFUSED, code(client.ask(question(WWW, Type.AXFR))));
      client.send(new byte[11]);
      final byte[] response = good.clone();
      response[2] |= (byte) 0x80;
      client.send(response);
      assertEquals(Rcode.NOERROR, code(client.ask(good)));
    }
    assertEquals(1, rig.server.questions.size());
    assertEquals(8, rig.count(DnsCounter.ERROR));
  }

  @Test
  void shouldIgnoreAnswersThatDoNotBelongToTheQuestion() throws Exception {
    final byte[] question = question("wWw.example.com.");
    rig.server.script =
        (asked, reply) -> {
          final byte[] good = ScriptedServer.answer(asked, ZONE);
          reply.send(withIdentifier(good, DnsQuestion.identifierOf(good) ^ 1));
          reply.send(changed(good, 13, 'W'));
          reply.send(changed(good, 14, 'x'));
          final int end = question.length;
          reply.send(changed(good, end - 3, Type.AAAA));
          reply.send(changed(good, end - 1, DClass.CH));
          reply.send(asked);
          try (DatagramSocket other = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            other.send(new DatagramPacket(good, good.length, rig.server.askers.getLast()));
          }
          reply.send(good);
          reply.send(good);
        };
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      final byte[] answer = client.ask(question);
      assertArrayEquals(
          Arrays.copyOfRange(question, 12, question.length),
          Arrays.copyOfRange(answer, 12, question.length));
      assertTrue(client.hasNothing());
    }
    await(() -> rig.count(DnsCounter.SPOOFED) == 7);
    assertEquals(1, rig.count(DnsCounter.FORWARDED));
  }

  private static byte[] changed(byte[] message, int offset, int value) {
    final byte[] copy = message.clone();
    assertNotEquals((byte) value, copy[offset]);
    copy[offset] = (byte) value;
    return copy;
  }

  @Test
  void shouldPassTruncatedAnswersUnchanged() throws Exception {
    rig.server.script =
        (question, reply) -> {
          final byte[] answer = ScriptedServer.answer(question, "");
          answer[2] |= 2;
          reply.send(answer);
        };
    rig.start();
    assertTrue(new Message(asked(question(WWW))).getHeader().getFlag(Flags.TC));
  }

  @Test
  void shouldAnswerManyQuestionsOfOneFlowOutOfOrder() throws Exception {
    final List<byte[]> waiting = new ArrayList<>();
    rig.server.script =
        (question, reply) -> {
          waiting.add(question);
          if (waiting.size() == 100) {
            for (final byte[] one : waiting.reversed()) {
              final String asked = new Message(one).getQuestion().getName().toString();
              reply.send(ScriptedServer.answer(one, asked + " 60 IN A 192.0.2.8\n"));
            }
          }
        };
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      for (int i = 0; i < 100; i++) {
        client.send(withIdentifier(question("n" + i + ".example.com."), i));
      }
      final Set<Integer> answered = new TreeSet<>();
      for (int i = 0; i < 100; i++) {
        final byte[] answer = client.receive();
        final int identifier = DnsQuestion.identifierOf(answer);
        assertEquals(
            name("n" + identifier + ".example.com."), new Message(answer).getQuestion().getName());
        answered.add(identifier);
      }
      assertEquals(100, answered.size());
    }
    assertEquals(1, Set.copyOf(rig.server.askers).size(), "one socket of a flow");
  }

  @Test
  void shouldForgetQuestionsThatNoServerAnswers() throws Exception {
    rig.server.script = (question, reply) -> {};
    rig.start(rig.context().times(times(100, 5_000, 100)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      await(() -> rig.count(DnsCounter.TIMED_OUT) == 1);
      await(() -> !rig.events.isEmpty());
      assertEquals(-1, rig.events.getFirst().responseCode());
    }
  }

  private static DnsProxyContext.Times times(long answerMs, long enforcementMs, long idleMs) {
    return new DnsProxyContext.Times(
        Duration.ofMillis(answerMs),
        Duration.ofMillis(enforcementMs),
        Duration.ofMillis(idleMs),
        Duration.ofMillis(idleMs));
  }

  @Test
  void shouldAnswerAtOnceWhereTheServerIsNotThere() throws Exception {
    try (DatagramSocket other =
        new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
      other.connect(InetAddress.getLoopbackAddress(), 1); // it takes packets of this peer alone
      rig.redirect.server = (InetSocketAddress) other.getLocalSocketAddress();
      rig.start();
      assertEquals(Rcode.SERVFAIL, code(asked(question(WWW))));
    }
    assertEquals(1, rig.count(DnsCounter.ERROR));
  }

  @Test
  void shouldIgnorePacketsThatTheDatapathHasNotSent() throws Exception {
    rig.start();
    rig.redirect.knowsFlows = false;
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      await(() -> rig.count(DnsCounter.UNKNOWN_FLOW) == 1);
      rig.redirect.knowsFlows = true;
      assertEquals(Rcode.NOERROR, code(client.ask(question(WWW))));
    }
    assertEquals(1, rig.count(DnsCounter.RECEIVED));
  }

  @Test
  void shouldAskAnEndpointOnlyFromASocketThatHasJoinedTheFlow() throws Exception {
    rig.redirect.serverEndpoint = 9;
    rig.redirect.join = new java.util.concurrent.CompletableFuture<>();
    rig.start(rig.context().times(times(5_000, 5_000, 100)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      assertTrue(client.hasNothing());
      assertEquals(List.of(), rig.server.questions);
      rig.redirect.join.complete(null);
      assertEquals(Rcode.NOERROR, code(client.receive()));
    }
    final int port = ((InetSocketAddress) rig.server.askers.getFirst()).getPort();
    assertEquals(List.of(port), rig.redirect.joined);
    await(() -> rig.redirect.left.equals(List.of(port)));
  }

  @Test
  void shouldLimitQuestionsAndSocketsOfAnEndpointAndCloseIdleSockets() throws Exception {
    rig.server.script = (question, reply) -> {};
    rig.start(
        rig.context()
            .times(times(60_000, 5_000, 60_000))
            .limits(new DnsProxyContext.Limits(100, 2, 100, 2, 10, 10)));
    try (ProxyRig.Udp first = rig.new Udp();
        ProxyRig.Udp second = rig.new Udp();
        ProxyRig.Udp third = rig.new Udp()) {
      first.send(question(WWW));
      second.send(question(WWW));
      await(() -> rig.server.questions.size() == 2);
      assertEquals(Rcode.SERVFAIL, code(first.ask(question(WWW))), "a third question");
      rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, ZONE));
      assertEquals(Rcode.SERVFAIL, code(third.ask(question(WWW))), "a third socket");
    }
    rig.close();
    rig = new ProxyRig();
    rig.start(
        rig.context()
            .times(times(60_000, 5_000, 60_000))
            .limits(new DnsProxyContext.Limits(100, 100, 100, 2, 10, 10)));
    for (int i = 0; i < 20; i++) {
      assertEquals(Rcode.NOERROR, code(asked(question(WWW))), "an idle socket makes room");
    }
  }

  @Test
  void shouldServeIpv6Clients() throws Exception {
    rig.redirect.hasIpv6 = true;
    rig.start();
    try (DatagramSocket client = new DatagramSocket()) {
      client.connect(InetAddress.getByName("::1"), rig.proxy.firstPort() + 7);
      client.setSoTimeout(10_000);
      final byte[] question = question(WWW);
      client.send(new DatagramPacket(question, question.length));
      final DatagramPacket answer = new DatagramPacket(new byte[512], 512);
      client.receive(answer);
      assertEquals(Rcode.NOERROR, code(answer.getData()));
    }
  }
}
