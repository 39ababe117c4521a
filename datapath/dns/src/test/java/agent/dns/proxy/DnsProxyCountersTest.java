package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;

/** What is counted of the questions of an endpoint and their answers. */
class DnsProxyCountersTest {
  private static final String WWW = "www.example.com.";
  private static final String DENIED = "evil.example.com.";
  private static final String ZONE = "www.example.com. 60 IN A 192.0.2.7\n";

  private ProxyRig rig;

  @BeforeEach
  void open() throws IOException {
    rig = new ProxyRig();
    rig.denied.add("evil.example.com");
    rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, ZONE));
  }

  @AfterEach
  void close() throws IOException {
    rig.close();
  }

  private void assertCounted(Messages requests, Messages responses) throws InterruptedException {
    final List<RedirectStatistics> wanted =
        List.of(
            new RedirectStatistics(
                PolicyDirection.EGRESS, rig.redirect.server.getPort(), requests, responses));
    await(() -> counted().equals(wanted), () -> counted() + " in place of " + wanted);
  }

  private List<RedirectStatistics> counted() {
    return rig.proxy.redirectCounters().statistics(FakeRedirect.ENDPOINT);
  }

  private static void assertCode(int code, byte[] message) throws IOException {
    assertEquals(Rcode.string(code), Rcode.string(new Message(message).getRcode()));
  }

  @Test
  void shouldCountQuestionsOverBothProtocolsTogether() throws Exception {
    rig.start();
    try (ProxyRig.Udp udp = rig.new Udp();
        ProxyRig.Tcp tcp = rig.new Tcp()) {
      for (int i = 0; i < 3; i++) {
        assertCode(Rcode.NOERROR, udp.ask(question(WWW)));
      }
      tcp.send(question(WWW));
      tcp.receive();
      tcp.send(question(WWW));
      tcp.receive();
      assertCode(Rcode.REFUSED, udp.ask(question(DENIED)));
      assertCode(Rcode.FORMERR, udp.ask(Arrays.copyOf(question(WWW), 20)));
      udp.send(new byte[3]);
      tcp.send(question(DENIED));
      assertCode(Rcode.REFUSED, tcp.receive());
    }
    assertCounted(new Messages(9, 5, 2, 2), new Messages(5, 5, 0, 0));
  }

  @Test
  void shouldCountOnlyQuestionsThatPolicySendsHere() throws Exception {
    rig.redirected = RedirectKind.HTTP;
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      assertCode(Rcode.NOERROR, client.ask(question(WWW)));
      assertEquals(List.of(), counted());
      rig.redirected = RedirectKind.DNS;
      assertCode(Rcode.NOERROR, client.ask(question(WWW)));
    }
    assertCounted(new Messages(1, 1, 0, 0), new Messages(1, 1, 0, 0));
  }

  @Test
  void shouldCountAnswersThatAreNotPassedOn() throws Exception {
    rig.enforced = CompletableFuture.failedFuture(new IllegalStateException("no room"));
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      assertCode(Rcode.SERVFAIL, client.ask(question(WWW)));
      assertCounted(new Messages(1, 1, 0, 0), new Messages(1, 0, 0, 1));
    }
  }

  @Test
  void shouldCountQuestionsWithoutAnAnswer() throws Exception {
    final Duration second = Duration.ofSeconds(5);
    final Duration shortly = Duration.ofMillis(100);
    rig.server.script = (question, reply) -> {};
    rig.start(rig.context().times(new DnsProxyContext.Times(shortly, second, second, second)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      for (int i = 1; i < 3; i++) {
        client.send(question(WWW));
        assertCounted(new Messages(i, i, 0, 0), new Messages(0, 0, 0, i));
      }
    }
  }

  @Test
  void shouldNotCountAsForwardedWhatNoSocketTook() throws Exception {
    rig.redirect.serverEndpoint = 9;
    rig.redirect.join = CompletableFuture.failedFuture(new IllegalStateException("no room"));
    rig.start();
    try (ProxyRig.Udp udp = rig.new Udp();
        ProxyRig.Tcp tcp = rig.new Tcp()) {
      assertCode(Rcode.SERVFAIL, udp.ask(question(WWW)));
      tcp.send(question(WWW));
      assertCode(Rcode.SERVFAIL, tcp.receive());
    }
    assertCounted(new Messages(2, 0, 0, 0), new Messages(0, 0, 0, 2));
  }

  @Test
  void shouldNotCountAsForwardedWhatNoServerListensTo() throws Exception {
    rig.connectNowhere();
    rig.start();
    try (ProxyRig.Tcp client = rig.new Tcp()) {
      client.send(question(WWW));
      assertCode(Rcode.SERVFAIL, client.receive());
    }
    assertCounted(new Messages(1, 0, 0, 0), new Messages(0, 0, 0, 1));
  }

  @Test
  void shouldRefuseAsAnErrorWhatThereIsNoRoomFor() throws Exception {
    rig.server.script = (question, reply) -> {};
    rig.start(rig.context().limits(new DnsProxyContext.Limits(100, 1, 100, 2, 10, 10)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      assertCode(Rcode.SERVFAIL, client.ask(question(WWW)));
    }
    assertCounted(new Messages(2, 1, 0, 1), Messages.NONE);
  }
}
