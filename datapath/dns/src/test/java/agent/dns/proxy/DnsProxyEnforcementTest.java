package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.xbill.DNS.Rcode;

/** What is open when a policy changes. */
@Timeout(60)
class DnsProxyEnforcementTest {
  private static final String WWW = "www.example.com.";
  private static final String ZONE = "www.example.com. 60 IN A 192.0.2.7\n";

  private final List<Runnable> answers = new CopyOnWriteArrayList<>();
  private ProxyRig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new ProxyRig();
    rig.server.script =
        (question, reply) ->
            answers.add(
                () -> {
                  try {
                    reply.send(ScriptedServer.answer(question, ZONE));
                  } catch (java.io.IOException e) {
                    // the proxy has closed
                  }
                });
    rig.start();
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private void answer(int count) throws Exception {
    await(() -> answers.size() == count);
    answers.getLast().run();
  }

  @Test
  void shouldEndTheConnectionsOfAFlowThatIsDeniedAndNoOthers() throws Exception {
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      answer(1);
      assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
      rig.proxy.enforce().get(10, TimeUnit.SECONDS);
      client.send(question(WWW));
      answer(2);
      assertEquals(Rcode.NOERROR, DnsQuestion.codeOf(client.receive()));
      client.send(question(WWW));
      await(() -> answers.size() == 3);
      rig.admits = false;
      rig.proxy.enforce().get(10, TimeUnit.SECONDS);
      answer(3);
      assertTrue(client.isEnded());
    }
  }

  @Test
  void shouldNotGiveTheAnswerToAQuestionThatIsDeniedMeanwhile() throws Exception {
    try (ProxyRig.Udp client = rig.new Udp();
        ProxyRig.Tcp stream = rig.new Tcp()) {
      client.send(question(WWW));
      await(() -> answers.size() == 1);
      rig.denied.add("www.example.com");
      rig.proxy.enforce().get(10, TimeUnit.SECONDS);
      answer(1);
      assertEquals(Rcode.REFUSED, DnsQuestion.codeOf(client.receive()));
      rig.denied.clear();
      stream.send(question(WWW));
      await(() -> answers.size() == 2);
      rig.denied.add("www.example.com");
      rig.proxy.enforce().get(10, TimeUnit.SECONDS);
      answer(2);
      assertEquals(Rcode.REFUSED, DnsQuestion.codeOf(stream.receive()));
      assertEquals(2, rig.count(DnsCounter.DENIED));
      rig.denied.clear();
      client.send(question(WWW));
      answer(3);
      assertFalse(DnsQuestion.codeOf(client.receive()) != Rcode.NOERROR);
    }
  }

  /** The server has another identity by then, with which no client may talk. */
  private void denyTheServer() throws Exception {
    rig.redirect.serverIdentity = 5;
    rig.deniedServer = 5;
    rig.proxy.enforce().get(10, TimeUnit.SECONDS);
  }

  @Test
  void shouldJudgeAnAnswerByTheIdentitiesOfItsTime() throws Exception {
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      await(() -> answers.size() == 1);
      denyTheServer();
      answer(1);
      assertEquals(Rcode.REFUSED, DnsQuestion.codeOf(client.receive()));
    }
  }

  @Test
  void shouldJudgeAConnectionByTheIdentitiesOfItsTime() throws Exception {
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      answer(1);
      client.receive();
      denyTheServer();
      assertEquals(1, rig.count(DnsCounter.DENIED));
      assertTrue(client.isEnded());
    }
  }

  @Test
  void shouldAnswerAChangeWhenTheConnectionsThatItDeniesHaveEnded() throws Exception {
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      answer(1);
      client.receive();
      final CountDownLatch isAwaited = new CountDownLatch(1);
      rig.beforeJudging =
          () -> {
            try {
              isAwaited.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          };
      rig.admits = false;
      final CompletableFuture<Long> denied =
          rig.proxy.enforce().thenApply(done -> rig.count(DnsCounter.DENIED));
      isAwaited.countDown();
      assertEquals(1, denied.get(10, TimeUnit.SECONDS));
    }
  }
}
