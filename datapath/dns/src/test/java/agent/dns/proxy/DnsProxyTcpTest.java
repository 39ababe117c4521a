package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Section;

class DnsProxyTcpTest {
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

  private static int code(byte[] message) {
    return message[3] & 0xf;
  }

  @Test
  void shouldAnswerPipelinedQuestionsAsAnswersCome() throws Exception {
    final List<byte[]> waiting = new ArrayList<>();
    rig.server.script =
        (question, reply) -> {
          waiting.add(question);
          if (waiting.size() == 100) {
            for (final byte[] one : waiting.reversed()) {
              reply.send(ScriptedServer.answer(one, ZONE));
            }
          }
        };
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      final Set<Integer> sent = new TreeSet<>();
      int last = 0;
      for (int i = 0; i < 100; i++) {
        final byte[] question = question(WWW);
        DnsQuestion.short16(question, 0, i);
        client.send(question);
        sent.add(i);
        last = i;
      }
      final byte[] first = client.receive();
      assertEquals(last, DnsQuestion.identifierOf(first), "the last question is answered first");
      sent.remove(last);
      for (int i = 1; i < 100; i++) {
        assertTrue(sent.remove(DnsQuestion.identifierOf(client.receive())));
      }
    }
    assertEquals(1, Set.copyOf(rig.server.askers).size(), "one connection to the server");
  }

  /** Its address may get another identity while the connection lasts. */
  @Test
  void shouldJudgeEachQuestionByTheIdentityThatTheServerHasThen() throws Exception {
    rig.deniedServer = 3;
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      for (final int identity : new int[] {2, 3, 2}) {
        rig.redirect.serverIdentity = identity;
        client.send(question(WWW));
        final int expected = identity == 3 ? Rcode.REFUSED : Rcode.NOERROR;
        assertEquals(expected, code(client.receive()));
      }
    }
  }

  @Test
  void shouldHave128QuestionsOfAConnectionAtAServerAtATime() throws Exception {
    final List<byte[]> waiting = new CopyOnWriteArrayList<>();
    final List<ScriptedServer.Reply> replies = new CopyOnWriteArrayList<>();
    rig.server.script =
        (question, reply) -> {
          waiting.add(question);
          replies.add(reply);
        };
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      for (int i = 0; i < 130; i++) {
        client.send(question(WWW));
      }
      await(() -> replies.size() == 128);
      Thread.sleep(20);
      assertEquals(128, rig.count(DnsCounter.RECEIVED));
      for (int i = 0; i < 130; i++) {
        final int next = i;
        await(() -> replies.size() > next);
        replies.get(i).send(ScriptedServer.answer(waiting.get(i), ZONE));
        assertEquals(Rcode.NOERROR, code(client.receive()));
      }
    }
    assertEquals(130, rig.count(DnsCounter.FORWARDED));
  }

  @Test
  void shouldAnswerAllOfAClientThatSendsFasterThanItReads() throws Exception {
    final String large =
        java.util.stream.IntStream.range(0, 1_000)
            .mapToObj(i -> "www.example.com. 60 IN TXT \"" + i + "\"\n")
            .reduce("", String::concat);
    rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, large));
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      final Thread sender =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      for (int i = 0; i < 500; i++) {
                        client.send(question(WWW, 16));
                      }
                    } catch (IOException e) {
                      throw new IllegalStateException(e);
                    }
                  });
      for (int i = 0; i < 500; i++) {
        assertTrue(client.receive().length > 10_000);
      }
      sender.join();
    }
  }

  @Test
  void shouldAnswerAfterTheClientHasEndedItsHalfAndThenClose() throws Exception {
    final CompletableFuture<Void> held = new CompletableFuture<>();
    rig.enforced = held;
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      client.socket.shutdownOutput();
      await(() -> rig.found.size() == 1);
      held.complete(null);
      assertEquals(1, new Message(client.receive()).getSection(Section.ANSWER).size());
      assertTrue(client.isEnded());
    }
  }

  @Test
  void shouldTakeQuestionsThatComeByteByByte() throws Exception {
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.socket.setTcpNoDelay(true);
      final byte[] question = question(WWW);
      final byte[] framed = new byte[question.length + 2];
      framed[1] = (byte) question.length;
      System.arraycopy(question, 0, framed, 2, question.length);
      for (final byte one : framed) {
        client.socket.getOutputStream().write(one);
      }
      assertEquals(Rcode.NOERROR, code(client.receive()));
    }
  }

  @Test
  void shouldRefuseDeniedAndMalformedQuestionsAndGoOn() throws Exception {
    rig.start();
    rig.denied.add("evil.example.com");
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question("evil.example.com."));
      assertEquals(Rcode.REFUSED, code(client.receive()));
      client.send(Arrays.copyOf(question(WWW), 20));
      assertEquals(Rcode.FORMERR, code(client.receive()));
      client.send(new byte[0]);
      client.send(new byte[3]);
      client.send(question(WWW));
      assertEquals(Rcode.NOERROR, code(client.receive()));
    }
    assertEquals(1, rig.server.questions.size());
  }

  @Test
  void shouldFailQuestionsWhoseServerClosesAndConnectAgain() throws Exception {
    rig.server.script =
        (question, reply) -> {
          if (rig.server.questions.size() == 1) {
            throw new IOException("closes");
          }
          reply.send(ScriptedServer.answer(question, ZONE));
        };
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      assertEquals(Rcode.SERVFAIL, code(client.receive()));
      client.send(question(WWW));
      assertEquals(Rcode.NOERROR, code(client.receive()));
    }
  }

  @Test
  void shouldFailQuestionsWhereNoServerListens() throws Exception {
    rig.connectNowhere();
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      assertEquals(Rcode.SERVFAIL, code(client.receive()));
    }
  }

  @Test
  void shouldIgnoreAnswersOfOtherQuestions() throws Exception {
    rig.server.script =
        (question, reply) -> {
          final byte[] good = ScriptedServer.answer(question, ZONE);
          final byte[] bad = good.clone();
          bad[1] ^= 1;
          reply.send(bad);
          reply.send(new byte[1]);
          reply.send(good);
        };
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      assertEquals(Rcode.NOERROR, code(client.receive()));
    }
    assertEquals(2, rig.count(DnsCounter.SPOOFED));
  }

  @Test
  void shouldCloseConnectionsThatTheDatapathHasNotSent() throws Exception {
    rig.redirect.knowsFlows = false;
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      assertTrue(client.isEnded());
    }
    assertEquals(1, rig.count(DnsCounter.UNKNOWN_FLOW));
  }

  @Test
  void shouldCloseIdleConnections() throws Exception {
    final Duration shortly = Duration.ofMillis(200);
    rig.start(rig.context().times(new DnsProxyContext.Times(shortly, shortly, shortly, shortly)));
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.socket.getOutputStream().write(0);
      assertTrue(client.isEnded());
    }
  }

  @Test
  void shouldLimitTheConnectionsOfAnEndpoint() throws Exception {
    rig.start(rig.context().limits(new DnsProxyContext.Limits(10, 10, 10, 10, 10, 2)));
    try (ProxyRig.Tcp first = rig.new Tcp();
        ProxyRig.Tcp second = rig.new Tcp()) {
      try (ProxyRig.Tcp third = rig.new Tcp()) {
        assertTrue(third.isEnded());
      }
      second.send(question(WWW));
      assertEquals(Rcode.NOERROR, code(second.receive()));
      first.socket.close();
      await(
          () -> {
            try (ProxyRig.Tcp another = rig.new Tcp()) {
              another.send(question(WWW));
              return code(another.receive()) == Rcode.NOERROR;
            } catch (IOException ended) {
              return false;
            }
          });
    }
  }

  @Test
  void shouldConnectToAnEndpointOnlyWhenTheSocketHasJoinedTheFlow() throws Exception {
    rig.redirect.serverEndpoint = 9;
    rig.redirect.join = new CompletableFuture<>();
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      await(() -> rig.redirect.joined.size() == 1);
      assertEquals(List.of(), rig.server.questions);
      rig.redirect.join.complete(null);
      assertEquals(Rcode.NOERROR, code(client.receive()));
    }
    final int port = ((InetSocketAddress) rig.server.askers.getFirst()).getPort();
    assertEquals(List.of(port), rig.redirect.joined);
    await(() -> rig.redirect.left.equals(List.of(port)));
  }

  @Test
  void shouldLookUpTheFlowOfAConnectionByItsEnds() throws Exception {
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      client.receive();
      final int proxyPort = client.socket.getPort();
      assertEquals(
          "6 127.0.0.1 %d %d".formatted(client.socket.getLocalPort(), proxyPort),
          rig.redirect.asked.getFirst());
    }
  }
}
