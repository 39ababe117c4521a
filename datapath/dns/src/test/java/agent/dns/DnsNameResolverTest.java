package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameResolver.Resolved;
import agent.types.IpAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.CNAMERecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Master;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

class DnsNameResolverTest {
  private final List<DatagramSocket> sockets = new ArrayList<>();
  private final List<String> questions = new CopyOnWriteArrayList<>();

  @AfterEach
  void close() {
    sockets.forEach(DatagramSocket::close);
  }

  /** Starts a server on the loopback interface that answers with the records of its zone. */
  private InetSocketAddress server(String zone, UnaryOperator<Message> change) throws IOException {
    final DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
    sockets.add(socket);
    final List<Record> records = records(zone);
    Thread.ofPlatform().daemon().start(() -> serve(socket, records, change));
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
  }

  private static List<Record> records(String zone) throws IOException {
    final List<Record> records = new ArrayList<>();
    try (Master master = new Master(new java.io.ByteArrayInputStream(zone.getBytes()), Name.root)) {
      for (Record next = master.nextRecord(); next != null; next = master.nextRecord()) {
        records.add(next);
      }
    }
    return records;
  }

  private void serve(DatagramSocket socket, List<Record> records, UnaryOperator<Message> change) {
    final byte[] buffer = new byte[4096];
    try {
      while (true) {
        final DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
        socket.receive(packet);
        final Message query = new Message(Arrays.copyOf(buffer, packet.getLength()));
        final int type = query.getQuestion().getType();
        questions.add(query.getQuestion().getName() + " " + Type.string(type));
        final Message answer = new Message(query.getHeader().getID());
        answer.getHeader().setFlag(Flags.QR);
        answer.addRecord(query.getQuestion(), Section.QUESTION);
        for (final Record record : records) {
          if (record.getType() == type || record.getType() == Type.CNAME) {
            answer.addRecord(record, Section.ANSWER);
          }
        }
        final Message sent = change.apply(answer);
        if (sent != null) {
          final byte[] wire = sent.toWire();
          socket.send(new DatagramPacket(wire, wire.length, packet.getSocketAddress()));
        }
      }
    } catch (IOException closed) {
      return;
    }
  }

  private static UnaryOperator<Message> code(int rcode) {
    return answer -> {
      answer.getHeader().setRcode(rcode);
      return answer;
    };
  }

  private static Resolved ask(boolean ipv6, InetSocketAddress... servers) {
    return new DnsNameResolver(() -> List.of(servers), true, ipv6, Duration.ofMillis(300))
        .resolve("www.example.com.")
        .join();
  }

  private static List<IpAddress> sorted(Resolved resolved) {
    return resolved.addresses().stream().sorted().toList();
  }

  @Test
  void shouldFindTheAddressesOfBothFamiliesAndTheLeastTime() throws IOException {
    final InetSocketAddress server =
        server(
            """
            www.example.com. 300 IN A 192.0.2.7
            www.example.com. 200 IN A 192.0.2.8
            www.example.com. 100 IN AAAA 2001:db8::7
            other.example.com. 1 IN A 192.0.2.9
            """,
            answer -> answer);
    final Resolved both = ask(true, server);
    assertEquals(
        List.of(
            IpAddress.parse("192.0.2.7"),
            IpAddress.parse("192.0.2.8"),
            IpAddress.parse("2001:db8::7")),
        sorted(both));
    assertEquals(100, both.ttlSec());
    assertEquals(200, ask(false, server).ttlSec());
  }

  @Test
  void shouldFollowAliasesToTheirEndAndNotALoop() throws IOException {
    final InetSocketAddress server =
        server(
            """
            b.example.net. 300 IN A 192.0.2.7
            a.example.com. 50 IN CNAME b.example.net.
            www.example.com. 70 IN CNAME a.example.com.
            a.example.com. 60 IN A 192.0.2.66
            """,
            answer -> answer);
    final Resolved found = ask(false, server);
    assertEquals(List.of(IpAddress.parse("192.0.2.7")), sorted(found));
    assertEquals(50, found.ttlSec());
    final InetSocketAddress loop =
        server(
            """
            www.example.com. 70 IN CNAME a.example.com.
            a.example.com. 50 IN CNAME www.example.com.
            """,
            answer -> answer);
    assertEquals(new Resolved(List.of(), 0), ask(false, loop));
  }

  /** Rules may select an alias of either family. */
  @Test
  void shouldReturnTheAliasesOfBothFamiliesOnce() throws IOException {
    final InetSocketAddress server =
        server(
            """
            www.example.com. 70 IN CNAME a.example.com.
            a.example.net. 300 IN A 192.0.2.7
            aaaa.example.net. 300 IN AAAA 2001:db8::7
            """,
            answer -> {
              final int type = answer.getQuestion().getType();
              final Name end = Name.fromConstantString(Type.string(type) + ".example.net.");
              final Name alias = Name.fromConstantString("a.example.com.");
              answer.addRecord(new CNAMERecord(alias, DClass.IN, 70, end), Section.ANSWER);
              return answer;
            });
    assertEquals(
        List.of("a.example.com.", "a.example.net.", "aaaa.example.net."),
        ask(true, server).aliases());
  }

  @Test
  void shouldLeaveOutAddressesThatNoServerOutsideCanHave() throws IOException {
    final InetSocketAddress server =
        server(
            """
            www.example.com. 300 IN A 0.0.0.0
            www.example.com. 300 IN A 127.0.0.1
            www.example.com. 300 IN A 224.0.0.1
            www.example.com. 300 IN AAAA ::1
            www.example.com. 300 IN AAAA ff02::1
            www.example.com. 300 IN AAAA ::ffff:10.0.0.5
            www.example.com. 300 IN AAAA ::10.0.0.5
            www.example.com. 300 IN A 0.1.2.3
            www.example.com. 300 IN A 255.255.255.255
            www.example.com. 300 IN AAAA 2001:db8::7
            """,
            answer -> answer);
    assertEquals(List.of(IpAddress.parse("2001:db8::7")), sorted(ask(true, server)));
  }

  @Test
  void shouldTakeANameThatDoesNotExistForOneWithoutAddresses() throws IOException {
    final InetSocketAddress server = server("", code(Rcode.NXDOMAIN));
    assertEquals(new Resolved(List.of(), 0), ask(true, server));
    assertEquals(2, questions.size());
  }

  @Test
  void shouldAskTheNextServerWhereOneFailsOrIsSilent() throws IOException {
    final InetSocketAddress good = server("www.example.com. 300 IN A 192.0.2.7", answer -> answer);
    for (final UnaryOperator<Message> bad :
        List.<UnaryOperator<Message>>of(
            code(Rcode.SERVFAIL), code(Rcode.REFUSED), answer -> null)) {
      assertEquals(
          List.of(IpAddress.parse("192.0.2.7")), sorted(ask(false, server("", bad), good)));
    }
  }

  /** The poller has so many lookups under way: one without an end would take a place for good. */
  @Test
  void shouldGiveUpAServerAfterItsTime() throws IOException {
    final InetSocketAddress silent = server("", answer -> null);
    assertTimeoutPreemptively(
        Duration.ofSeconds(4),
        () -> assertThrows(CompletionException.class, () -> ask(true, silent)));
  }

  @Test
  void shouldSayWhichServerDidNotAnswer() throws IOException {
    final InetSocketAddress silent = server("", answer -> null);
    final String why =
        assertThrows(CompletionException.class, () -> ask(false, silent)).getCause().getMessage();
    assertTrue(
        why.startsWith("www.example.com. A: 127.0.0.1 port " + silent.getPort() + ": "), why);
    final InetSocketAddress refusing = server("", code(Rcode.REFUSED));
    final String refused =
        assertThrows(CompletionException.class, () -> ask(false, refusing)).getCause().getMessage();
    assertTrue(refused.endsWith(": REFUSED"), refused);
    assertEquals(
        "www.example.com. A: no DNS server is configured",
        assertThrows(CompletionException.class, () -> ask(false)).getCause().getMessage());
  }

  @Test
  void shouldNotBelieveAnAnswerToAnotherQuestion() throws IOException {
    final InetSocketAddress wrongId =
        server(
            "www.example.com. 300 IN A 192.0.2.66",
            answer -> {
              answer.getHeader().setID(answer.getHeader().getID() ^ 1);
              return answer;
            });
    assertThrows(CompletionException.class, () -> ask(false, wrongId));
    final InetSocketAddress wrongName =
        server(
            "www.example.com. 300 IN A 192.0.2.66",
            answer -> {
              answer.removeAllRecords(Section.QUESTION);
              answer.addRecord(
                  Record.newRecord(Name.fromConstantString("x.example.com."), Type.A, 1),
                  Section.QUESTION);
              return answer;
            });
    assertThrows(CompletionException.class, () -> ask(false, wrongName));
  }

  /** An answer with so many aliases, and an address at their end. */
  private static Resolved chain(int aliases) throws IOException {
    final StringBuilder zone = new StringBuilder();
    for (int i = 0; i < aliases; i++) {
      zone.append("n%d.example.com. 300 IN CNAME n%d.example.com.\n".formatted(i, i + 1));
    }
    zone.append("n%d.example.com. 300 IN A 192.0.2.7\n".formatted(aliases));
    final Message answer = new Message();
    records(zone.toString()).forEach(record -> answer.addRecord(record, Section.ANSWER));
    return DnsNameResolver.read(Name.fromConstantString("n0.example.com."), answer);
  }

  /** A record of another class is about another network (RFC 1035 section 3.2.4). */
  @Test
  void shouldTakeNoAddressOfAnotherClass() throws IOException {
    final Name name = Name.fromConstantString("www.example.com.");
    final Message answer = new Message();
    answer.addRecord(address(name, DClass.CH, "192.0.2.66"), Section.ANSWER);
    answer.addRecord(address(name, DClass.IN, "192.0.2.7"), Section.ANSWER);
    assertEquals(
        new Resolved(List.of(IpAddress.parse("192.0.2.7")), 300),
        DnsNameResolver.read(name, answer));
  }

  private static Record address(Name name, int dclass, String address) throws IOException {
    return new ARecord(name, dclass, 300, InetAddress.getByName(address));
  }

  @Test
  void shouldFollowEveryAliasThatAnAnswerHas() throws IOException {
    assertEquals(List.of(IpAddress.parse("192.0.2.7")), chain(16).addresses());
    assertEquals(List.of(IpAddress.parse("192.0.2.7")), chain(17).addresses());
    assertEquals(200, chain(200).aliases().size());
  }

  @Test
  void shouldSayWhyThereIsNoAnswerWhereTheReasonIsKnown() {
    final InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), 5353);
    final IOException reason = new IOException("connection refused");
    for (final Throwable failure : List.of(reason, new CompletionException(reason))) {
      assertEquals(
          "127.0.0.1 port 5353: connection refused",
          DnsNameResolver.problem(server, null, failure));
    }
    for (final Throwable failure :
        List.of(
            new IOException(),
            new CompletionException(new IOException()),
            new IllegalStateException("closed"),
            new CompletionException("other", null))) {
      assertEquals(
          "127.0.0.1 port 5353: no answer", DnsNameResolver.problem(server, null, failure));
    }
  }

  @Test
  void shouldFailForANameThatDnsCannotHave() {
    final InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), 5353);
    final String why =
        assertThrows(
                CompletionException.class,
                () ->
                    new DnsNameResolver(() -> List.of(server), true, false, Duration.ofMillis(300))
                        .resolve("a..example.com.")
                        .join())
            .getCause()
            .getMessage();
    assertTrue(why.startsWith("a..example.com.: "), why);
  }

  /** The type of the question, and how many servers have failed, are both small numbers. */
  @Test
  void shouldAskEveryServerTheSameQuestion() throws IOException {
    final InetSocketAddress good = server("www.example.com. 9 IN AAAA 2001:db8::7", sent -> sent);
    final Resolved found =
        new DnsNameResolver(
                () -> {
                  try {
                    return List.of(
                        server("", code(Rcode.SERVFAIL)), server("", code(Rcode.REFUSED)), good);
                  } catch (IOException e) {
                    throw new UncheckedIOException(e);
                  }
                },
                false,
                true,
                Duration.ofSeconds(5))
            .resolve("www.example.com.")
            .join();
    assertEquals(List.of(IpAddress.parse("2001:db8::7")), found.addresses());
    assertEquals(Collections.nCopies(3, "www.example.com. AAAA"), questions);
  }
}
