package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.await;
import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameResolver.Resolved;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** When an answer is released, and where the proxy listens. */
class DnsProxyReleaseTest {
  private static final String WWW = "www.example.com.";

  private ProxyRig rig;

  @BeforeEach
  void open() throws IOException {
    rig = new ProxyRig();
    answers("www.example.com. 60 IN A 192.0.2.7\n");
  }

  @AfterEach
  void close() throws IOException {
    rig.close();
  }

  private void answers(String zone) {
    rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, zone));
  }

  private static List<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts).map(IpAddress::parse).toList();
  }

  @Test
  void shouldReleaseAnAnswerOnlyWhenTheRulesUseItsAddresses() throws Exception {
    final CompletableFuture<Void> enforced = new CompletableFuture<>();
    rig.enforced = enforced;
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question("WWW.example.com."));
      await(() -> rig.found.size() == 1);
      assertTrue(client.hasNothing());
      enforced.complete(null);
      assertEquals(1, new Message(client.receive()).getSection(Section.ANSWER).size());
    }
    assertEquals(
        List.of(
            new ProxyRig.Found(
                FakeRedirect.ENDPOINT, WWW, new Resolved(addresses("192.0.2.7"), 60))),
        rig.found);
  }

  /** Such a client asks a server with rules of its own: its names take no room of others'. */
  @Test
  void shouldLearnNoNameForAClientWithoutARuleOfQuestions() throws Exception {
    rig.redirected = RedirectKind.NONE;
    rig.enforced = new CompletableFuture<>();
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      assertEquals(1, new Message(client.receive()).getSection(Section.ANSWER).size());
    }
    assertEquals(List.of(), rig.found);
  }

  @Test
  void shouldNotHoldUpOtherAnswersMeanwhile() throws Exception {
    rig.enforced = new CompletableFuture<>();
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp();
        ProxyRig.Udp other = rig.new Udp()) {
      client.send(question(WWW));
      await(() -> rig.found.size() == 1);
      rig.enforced = CompletableFuture.completedFuture(null);
      other.ask(question(WWW));
      assertTrue(client.hasNothing());
    }
  }

  @Test
  void shouldAnswerAFailureWhereTheRulesDoNotUseTheAddressesInTime() throws Exception {
    rig.enforced = new CompletableFuture<>();
    final Duration most = Duration.ofSeconds(5);
    rig.start(
        rig.context().times(new DnsProxyContext.Times(most, Duration.ofMillis(100), most, most)));
    try (ProxyRig.Udp client = rig.new Udp()) {
      final Message answer = new Message(client.ask(question(WWW)));
      assertEquals(Rcode.SERVFAIL, answer.getRcode());
      assertEquals(List.of(), answer.getSection(Section.ANSWER));
      rig.enforced.complete(null);
      assertTrue(client.hasNothing(), "one answer only");
      rig.enforced = CompletableFuture.failedFuture(new OperationException("ENOSPC"));
      assertEquals(Rcode.SERVFAIL, new Message(client.ask(question(WWW))).getRcode());
    }
    assertEquals(2, rig.count(DnsCounter.UNENFORCED));
    assertEquals(0, rig.count(DnsCounter.FORWARDED));
  }

  /** The rules have changed since the question was judged. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRefuseWhatNoRuleLetsTheEndpointAskForAnyMore(boolean isAtOnce) throws Exception {
    final CompletableFuture<Void> enforced = new CompletableFuture<>();
    rig.enforced = enforced;
    if (isAtOnce) {
      enforced.completeExceptionally(new DeniedNameException());
    }
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.send(question(WWW));
      await(() -> rig.found.size() == 1);
      enforced.completeExceptionally(new DeniedNameException());
      assertEquals(Rcode.REFUSED, new Message(client.receive()).getRcode());
    }
    assertEquals(1, rig.count(DnsCounter.DENIED));
    assertEquals(0, rig.count(DnsCounter.UNENFORCED));
  }

  @Test
  void shouldRefuseSuchANameAsTheOptionSays() throws Exception {
    rig.enforced = CompletableFuture.failedFuture(new DeniedNameException());
    rig.start(rig.context().deniedIsNameError(true));
    try (ProxyRig.Udp client = rig.new Udp()) {
      assertEquals(Rcode.NXDOMAIN, new Message(client.ask(question(WWW))).getRcode());
    }
    await(() -> rig.events.size() == 1);
    assertEquals(Rcode.NXDOMAIN, rig.events.getFirst().responseCode());
  }

  @Test
  void shouldFollowAliasesAndTakeTheLeastTimeToLive() throws Exception {
    answers(
        """
        www.example.com. 300 IN CNAME Edge.example.net.
        edge.example.net. 20 IN CNAME a.example.net.
        a.example.net. 60 IN A 192.0.2.8
        a.example.net. 90 IN AAAA 2001:db8::8
        b.example.net. 5 IN A 192.0.2.99
        """);
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.ask(question(WWW, Type.AAAA));
    }
    assertEquals(
        new Resolved(
            addresses("192.0.2.8", "2001:db8::8"),
            20,
            List.of("edge.example.net.", "a.example.net.")),
        rig.found.get(0).answer());
    assertEquals(WWW, rig.found.get(0).name());
  }

  @Test
  void shouldCutAnAnswerToTheAddressesThatRulesUse() throws Exception {
    answers(
        """
        www.example.com. 300 IN CNAME edge.example.net.
        edge.example.net. 60 IN A 192.0.2.7
        edge.example.net. 60 IN A 192.0.2.8
        edge.example.net. 60 IN AAAA 2001:db8::7
        edge.example.net. 60 IN AAAA 2001:db8::8
        """);
    rig.closed = Set.copyOf(addresses("192.0.2.8", "2001:db8::7"));
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      final byte[] question = question(WWW);
      final Message answer = new Message(client.ask(question));
      assertEquals(new Message(question).getHeader().getID(), answer.getHeader().getID());
      assertEquals(
          List.of("edge.example.net.", "192.0.2.7", "2001:db8:0:0:0:0:0:8"),
          answer.getSection(Section.ANSWER).stream().map(Record::rdataToString).toList());
      await(() -> rig.events.size() == 1);
      assertEquals(addresses("192.0.2.7", "2001:db8::8"), rig.events.get(0).addresses());
      assertEquals(1, rig.count(DnsCounter.CUT));
      rig.closed = Set.copyOf(addresses("192.0.2.7", "192.0.2.8", "2001:db8::7", "2001:db8::8"));
      assertEquals(Rcode.SERVFAIL, new Message(client.ask(question(WWW))).getRcode());
      assertEquals(1, rig.count(DnsCounter.UNENFORCED));
      assertEquals(1, rig.count(DnsCounter.CUT));
    }
  }

  /** Clients also use the addresses that an answer has in addition. */
  @Test
  void shouldCutAnAdditionalAddressThatRulesDoNotUse() throws Exception {
    final Name name = Name.fromString(WWW);
    rig.server.script =
        (question, reply) -> {
          final String zone = WWW + " 60 IN A 192.0.2.7\n" + WWW + " 60 IN A 192.0.2.8\n";
          final Message answer = new Message(ScriptedServer.answer(question, zone));
          for (final String address : List.of("192.0.2.7", "192.0.2.8")) {
            answer.addRecord(
                Record.fromString(name, Type.A, DClass.IN, 60, address, Name.root),
                Section.ADDITIONAL);
          }
          reply.send(answer.toWire());
        };
    rig.closed = Set.copyOf(addresses("192.0.2.8"));
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      final Message answer = new Message(client.ask(question(WWW)));
      assertEquals(
          List.of("192.0.2.7"),
          answer.getSection(Section.ADDITIONAL).stream().map(Record::rdataToString).toList());
    }
  }

  @Test
  void shouldFollowEveryAliasOfAnAnswer() throws Exception {
    final StringBuilder chain = new StringBuilder("www.example.com. 60 IN CNAME n0.example.net.\n");
    for (int i = 0; i < 40; i++) {
      chain.append("n%d.example.net. 60 IN CNAME n%d.example.net.\n".formatted(i, i + 1));
    }
    answers(chain + "n40.example.net. 60 IN A 192.0.2.7\n");
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.ask(question(WWW));
      assertEquals(addresses("192.0.2.7"), rig.found.get(0).answer().addresses());
      answers(chain + "n40.example.net. 60 IN CNAME n3.example.net.\n");
      client.ask(question(WWW));
    }
    assertEquals(1, rig.found.size(), "a loop leads to no address");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "www.example.com. 60 CH A 192.0.2.7\n",
        "www.example.com. 60 CH CNAME a.x.\na.x. 60 IN A 192.0.2.7\n",
        "www.example.com. 60 IN CNAME a.x.\na.x. 60 HS A 192.0.2.7\n"
      })
  void shouldOpenNoAddressOfAnotherClass(String zone) throws Exception {
    answers(zone);
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      for (final int type : new int[] {DClass.IN, DClass.ANY}) {
        final Record asked = Record.newRecord(Name.fromString(WWW), Type.A, type);
        client.ask(Message.newQuery(asked).toWire());
      }
    }
    assertEquals(List.of(), rig.found);
  }

  @Test
  void shouldPassAnswersWithoutAddressesAtOnce() throws Exception {
    rig.enforced = new CompletableFuture<>();
    rig.start();
    rig.server.script =
        (question, reply) -> reply.send(ScriptedServer.answer(question, Rcode.NXDOMAIN, ""));
    try (ProxyRig.Udp client = rig.new Udp()) {
      assertEquals(Rcode.NXDOMAIN, new Message(client.ask(question(WWW))).getRcode());
      answers("www.example.com. 60 IN MX 5 mail.example.com.\n");
      assertEquals(Rcode.NOERROR, new Message(client.ask(question(WWW, Type.MX))).getRcode());
      answers("other.example.com. 60 IN A 192.0.2.7\n");
      assertEquals(Rcode.NOERROR, new Message(client.ask(question(WWW))).getRcode());
    }
    assertEquals(List.of(), rig.found);
  }

  @Test
  void shouldNotPassAnAnswerThatItCannotRead() throws Exception {
    rig.server.script =
        (question, reply) -> {
          final byte[] answer =
              ScriptedServer.answer(question, "www.example.com. 60 IN A 192.0.2.7\n");
          reply.send(Arrays.copyOf(answer, answer.length - 1));
        };
    rig.start();
    try (ProxyRig.Udp client = rig.new Udp()) {
      assertEquals(Rcode.SERVFAIL, new Message(client.ask(question(WWW))).getRcode());
    }
    assertEquals(1, rig.count(DnsCounter.ERROR));
  }

  @Test
  void shouldListenOnThePortsOfTheOptionOrSayWhichIsTaken() throws Exception {
    rig.start();
    final int first = rig.proxy.firstPort();
    rig.proxy.close();
    rig.proxy = null;
    try (ServerSocket taken = new ServerSocket()) {
      taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), first + 5));
      final String message =
          assertThrows(
                  OperationException.class,
                  () -> DnsProxy.start(rig.context().port(first).conclude()))
              .getMessage();
      assertEquals(
          "--tofqdns-proxy-port: TCP port %d of 127.0.0.1: address already in use"
              .formatted(first + 5),
          message);
    }
    rig.start(rig.context().port(first));
    assertEquals(first, rig.proxy.firstPort());
    try (ProxyRig.Udp client = rig.new Udp()) {
      client.ask(question(WWW));
    }
  }

  @Test
  void shouldListenOnIpv6AloneAndNotWithoutAnAddress() throws Exception {
    rig.redirect.ipv4 = null;
    assertEquals(
        "DNS proxy: this node has no address to listen on",
        assertThrows(OperationException.class, rig::start).getMessage());
    rig.redirect.hasIpv6 = true;
    rig.start();
    assertThrows(
        IOException.class,
        () -> new ServerSocket(rig.proxy.firstPort(), 1, InetAddress.getByName("::1")));
  }

  @Test
  void shouldRefusePortsThatAreNone() {
    assertEquals(
        "tofqdns-proxy-port: 65529 is not between 0 and 65528",
        assertThrows(IllegalArgumentException.class, () -> rig.context().port(65_529).conclude())
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> rig.context().port(-1).conclude());
    assertThrows(IllegalStateException.class, () -> DnsProxy.start(rig.context()));
    final DnsProxyContext concluded = rig.context().conclude();
    assertThrows(IllegalStateException.class, () -> concluded.port(1));
  }

  @Test
  void shouldCloseItsSocketsAndEndItsThread() throws Exception {
    rig.start();
    final int first = rig.proxy.firstPort();
    rig.proxy.close();
    rig.proxy = null;
    for (int port = first; port < first + 8; port++) {
      new ServerSocket(port, 1, InetAddress.getLoopbackAddress()).close();
      new DatagramSocket(port, InetAddress.getLoopbackAddress()).close();
    }
    assertNull(
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("dns-proxy"))
            .findAny()
            .orElse(null));
  }
}
