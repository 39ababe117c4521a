package agent.dns.proxy;

import static agent.dns.proxy.ProxyRig.question;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.Message;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Section;

/** Questions and answers with random changes: the proxy goes on. */
class DnsProxyFuzzTest {
  private static final long FUZZ_NS = TimeUnit.SECONDS.toNanos(3);
  private static final String ZONE =
      """
      www.example.com. 300 IN CNAME edge.example.net.
      edge.example.net. 60 IN A 192.0.2.8
      edge.example.net. 90 IN AAAA 2001:db8::8
      edge.example.net. 90 IN TXT "text"
      """;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private ProxyRig rig;
  private volatile boolean isFuzzing = true;

  @BeforeEach
  void open() throws IOException {
    rig = new ProxyRig();
    rig.server.script = (question, reply) -> reply.send(ScriptedServer.answer(question, ZONE));
    final Duration shortly = Duration.ofMillis(100);
    final Duration idle = Duration.ofSeconds(1);
    final Duration most = Duration.ofSeconds(5);
    rig.start(rig.context().times(new DnsProxyContext.Times(shortly, most, shortly, idle)));
  }

  @AfterEach
  void close() throws IOException {
    rig.close();
  }

  private byte[] mutated(byte[] message, int firstByte) {
    byte[] copy = message.clone();
    for (int changes = 1 + random.nextInt(6); changes > 0; changes--) {
      final int at = firstByte + random.nextInt(Math.max(1, copy.length - firstByte));
      switch (random.nextInt(5)) {
        case 0 -> copy = Arrays.copyOf(copy, Math.max(firstByte + 1, at));
        case 1 -> copy = Arrays.copyOf(copy, copy.length + random.nextInt(20));
        case 2 -> copy[at % copy.length] = (byte) 0xc0;
        case 3 -> copy[at % copy.length] ^= (byte) (1 << random.nextInt(8));
        default -> copy[at % copy.length] = (byte) random.nextInt();
      }
    }
    return copy;
  }

  private static byte[] withOpt() throws IOException {
    final Message message = new Message(question("www.example.com."));
    message.addRecord(new OPTRecord(1400, 0, 0, 1 << 15), Section.ADDITIONAL);
    return message.toWire();
  }

  /** A connection that waits for long is closed, so it is opened for its question. */
  private void assertServing() throws IOException, InterruptedException {
    isFuzzing = false;
    try (ProxyRig.Udp udp = rig.new Udp()) {
      assertEquals(
          Rcode.NOERROR, new Message(udp.askUntilAnswered(withOpt())).getRcode(), "seed " + seed);
    }
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!isServedOverTcp(endNs)) {
      Thread.sleep(50);
    }
  }

  /**
   * Connections of before wait for their questions for a moment, and take up the share of the
   * client meanwhile: one beyond it is closed. So is one whose question was lost on its way.
   */
  private boolean isServedOverTcp(long endNs) throws IOException {
    try (ProxyRig.Tcp tcp = rig.new Tcp()) {
      tcp.send(withOpt());
      assertEquals(Rcode.NOERROR, new Message(tcp.receive()).getRcode(), "seed " + seed);
      return true;
    } catch (SocketException | EOFException closed) {
      if (System.nanoTime() > endNs) {
        throw closed;
      }
      return false;
    }
  }

  @Test
  void shouldServeAfterRandomQuestionsOverUdp() throws Exception {
    final long startNs = System.nanoTime();
    while (System.nanoTime() - startNs < FUZZ_NS) {
      try (ProxyRig.Udp client = rig.new Udp()) {
        for (int i = 0; i < 50; i++) {
          client.send(mutated(withOpt(), 0));
        }
        client.askUntilAnswered(withOpt());
      }
    }
    assertServing();
  }

  @Test
  void shouldServeAfterRandomStreamsOverTcp() throws Exception {
    final long startNs = System.nanoTime();
    while (System.nanoTime() - startNs < FUZZ_NS) {
      try (ProxyRig.Tcp client = rig.new Tcp()) {
        final byte[] question = withOpt();
        final byte[] framed = new byte[question.length + 2];
        framed[1] = (byte) question.length;
        System.arraycopy(question, 0, framed, 2, question.length);
        for (int i = 0; i < 10; i++) {
          client.socket.getOutputStream().write(mutated(framed, 0));
        }
      } catch (SocketException closed) {
        // The proxy may end such a connection.
      }
    }
    assertServing();
  }

  @Test
  void shouldServeAfterRandomAnswers() throws Exception {
    rig.server.script =
        (question, reply) -> {
          final byte[] answer = ScriptedServer.answer(question, ZONE);
          if (isFuzzing) {
            for (int i = 0; i < 5; i++) {
              reply.send(mutated(answer, random.nextBoolean() ? 2 : question.length));
            }
          }
          reply.send(answer);
        };
    final long startNs = System.nanoTime();
    while (System.nanoTime() - startNs < FUZZ_NS) {
      try (ProxyRig.Udp udp = rig.new Udp();
          ProxyRig.Tcp tcp = rig.new Tcp()) {
        tcp.send(question("www.example.com."));
        tcp.receive();
        udp.askUntilAnswered(question("www.example.com."));
      } catch (SocketException | EOFException closed) {
        // The answer took longer than it may.
      }
    }
    assertServing();
  }
}
