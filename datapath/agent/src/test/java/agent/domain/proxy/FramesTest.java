package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.dns.proxy.DnsCounter;
import agent.dns.proxy.DnsObserver;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.EscapedSlashes;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import agent.types.IpAddress;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What agent and proxy process send each other. */
@Timeout(60)
class FramesTest {
  private static final int LONGEST = 4_096;
  private static final RedirectedFlow FLOW =
      new RedirectedFlow(
          17,
          IpAddress.parse("10.1.2.3"),
          40_000,
          0x0100_0007,
          9,
          IpAddress.parse("2001:db8::7"),
          65_535,
          -2,
          11);

  private static byte[] bytes(FrameWriter.Body body) throws IOException {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    body.write(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }

  private static <T> T read(FrameWriter.Body body, Wire.Reader<T> reader) throws IOException {
    final DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes(body)));
    final T value = reader.read(in);
    assertEquals(0, in.available(), "all is read");
    return value;
  }

  @Test
  void shouldReadEventsAsTheyWere() throws IOException {
    final RequestRecord request =
        new RequestRecord(
            Instant.ofEpochMilli(1_700_000_000_123L),
            RequestRecord.Verdict.DENIED,
            FLOW,
            "HTTP/2",
            "GET",
            "/é\"\n",
            "a.test",
            403,
            12,
            List.of("x", "y"));
    assertEquals(request, read(out -> EventCodec.write(out, request), EventCodec::readRequest));
    final DnsObserver.Event question =
        new DnsObserver.Event(
            FLOW,
            "www.example.com.",
            28,
            -1,
            DnsObserver.Verdict.ERROR,
            List.of(FLOW.client(), FLOW.server()),
            300);
    assertEquals(question, read(out -> EventCodec.write(out, question), EventCodec::readQuestion));
  }

  @Test
  void shouldReadOptionsAsTheyWere() throws IOException {
    final HttpProxyContext http =
        new HttpProxyContext()
            .threads(3)
            .descriptors(77)
            .retries(5)
            .retryTimeout(Duration.ofSeconds(1))
            .connectTimeout(Duration.ofSeconds(2))
            .requestTimeout(Duration.ofSeconds(3))
            .idleTimeout(Duration.ofSeconds(4))
            .grpcTimeout(Duration.ofSeconds(5))
            .escapedSlashes(EscapedSlashes.KEEP);
    final HttpProxyContext httpRead =
        read(out -> ContextCodec.write(out, http), ContextCodec::readHttp);
    assertEquals(texts(http), texts(httpRead));
    for (final boolean isNameError : new boolean[] {true, false}) {
      final DnsProxyContext dns =
          new DnsProxyContext()
              .port(9_053)
              .deniedIsNameError(isNameError)
              .limits(new DnsProxyContext.Limits(1, 2, 3, 4, 5, 6));
      final DnsProxyContext dnsRead =
          read(out -> ContextCodec.write(out, dns), ContextCodec::readDns);
      assertEquals(dns.limits(), dnsRead.limits());
      assertEquals(dns.deniedCode(), dnsRead.deniedCode());
      assertEquals(dns.port(), dnsRead.port());
    }
  }

  private static List<Object> texts(HttpProxyContext context) {
    return List.of(
        context.threads(),
        context.descriptors(),
        context.retries(),
        context.retryTimeout(),
        context.connectTimeout(),
        context.requestTimeout(),
        context.idleTimeout(),
        context.grpcTimeout(),
        context.escapedSlashes());
  }

  @Test
  void shouldReadReportsAsTheyWere() throws IOException {
    final ProxyCounts report =
        new ProxyCounts(
            Map.of(RequestRecord.Verdict.ERROR, 3L, RequestRecord.Verdict.DENIED, 4L),
            new ProxyCounts.Connections(1, 2, 3, 4),
            Map.of(DnsCounter.CUT, 9L),
            Map.of(
                RedirectKind.HTTP,
                List.of(
                    new RedirectStatistics(
                        PolicyDirection.INGRESS,
                        65_535,
                        new Messages(1, 2, 3, 4),
                        new Messages(5, 6, 7, 8)))));
    assertEquals(report, read(out -> CountsCodec.write(out, report), CountsCodec::read));
  }

  @Test
  void shouldAddWhatAFormerProcessHasCounted() {
    final ProxyCounts former =
        new ProxyCounts(
            Map.of(RequestRecord.Verdict.DENIED, 10L),
            new ProxyCounts.Connections(5, 20, 30, 40),
            Map.of(DnsCounter.CUT, 50L),
            Map.of(RedirectKind.HTTP, List.of()));
    final ProxyCounts now =
        new ProxyCounts(
            Map.of(RequestRecord.Verdict.DENIED, 1L, RequestRecord.Verdict.ERROR, 2L),
            new ProxyCounts.Connections(7, 3, 4, 5),
            Map.of(DnsCounter.CUT, 6L),
            Map.of());
    final ProxyCounts all = now.after(former);
    assertEquals(11, all.requests(RequestRecord.Verdict.DENIED));
    assertEquals(2, all.requests(RequestRecord.Verdict.ERROR));
    assertEquals(0, all.requests(RequestRecord.Verdict.FORWARDED));
    assertEquals(new ProxyCounts.Connections(7, 23, 34, 45), all.http());
    assertEquals(56, all.questions(DnsCounter.CUT));
    assertEquals(Map.of(), all.redirects());
  }

  @Test
  void shouldPassFramesInOrder() throws Exception {
    final PipedInputStream in = new PipedInputStream();
    final List<Integer> seen = new ArrayList<>();
    try (FrameWriter writer = new FrameWriter(new PipedOutputStream(in), null, () -> {})) {
      for (int i = 0; i < 2_000; i++) {
        final int number = i;
        writer.send(FrameType.FORGET, out -> out.writeInt(number));
      }
    }
    new FrameReader(in, LONGEST).run((type, body) -> seen.add(body.readInt()));
    assertEquals(2_000, seen.size());
    for (int i = 0; i < seen.size(); i++) {
      assertEquals(i, seen.get(i));
    }
  }

  @Test
  void shouldDropEventsBeyondTheBoundAndNoOtherFrame() throws Exception {
    final CountDownLatch isFree = new CountDownLatch(1);
    final FrameWriter writer = new FrameWriter(stalled(isFree), null, () -> {});
    final byte[] large = new byte[16 * 1024]; // few of them fit into its buffer
    for (int i = 0; i < 2 * FrameWriter.MOST_EVENTS; i++) {
      writer.event(FrameType.REQUEST, out -> out.write(large));
      writer.event(FrameType.QUESTION, out -> out.write(large));
      writer.send(FrameType.LEAVE, out -> {});
    }
    final long dropped = writer.droppedRequests();
    assertTrue(
        dropped <= FrameWriter.MOST_EVENTS && dropped > FrameWriter.MOST_EVENTS / 2,
        "dropped: " + dropped);
    isFree.countDown();
    writer.close();
  }

  /** What is written makes room; what was dropped takes none. */
  @Test
  void shouldDropNoEventOnceThoseBeforeItAreWritten() throws Exception {
    final CountDownLatch isFree = new CountDownLatch(1);
    final AtomicInteger written = new AtomicInteger();
    try (FrameWriter writer = new FrameWriter(stalled(isFree), null, () -> {})) {
      for (int i = 0; i < 3 * FrameWriter.MOST_EVENTS; i++) {
        writer.event(FrameType.REQUEST, out -> written.incrementAndGet());
      }
      final long dropped = writer.droppedRequests();
      assertTrue(dropped > 0, "dropped: " + dropped);
      isFree.countDown();
      final long first = 3 * FrameWriter.MOST_EVENTS - dropped;
      for (int i = 0; i < 3 * FrameWriter.MOST_EVENTS; i++) {
        while (first + i - written.get() >= FrameWriter.MOST_EVENTS / 2) {
          Thread.sleep(1); // fewer than the bound wait at once
        }
        writer.event(FrameType.REQUEST, out -> written.incrementAndGet());
      }
      assertEquals(dropped, writer.droppedRequests());
    }
  }

  @Test
  void shouldCountDroppedRequestsAlone() throws Exception {
    final CountDownLatch isFree = new CountDownLatch(1);
    try (FrameWriter writer = new FrameWriter(stalled(isFree), null, () -> {})) {
      for (int i = 0; i < 4 * FrameWriter.MOST_EVENTS; i++) {
        writer.event(FrameType.QUESTION, out -> {});
      }
      assertEquals(0, writer.droppedRequests());
      isFree.countDown();
    }
  }

  /** A reader that does not read any more must not take the memory of the agent. */
  @Test
  void shouldGiveUpAReaderThatIsFarBehind() {
    final CountDownLatch isFree = new CountDownLatch(1);
    final AtomicInteger failures = new AtomicInteger();
    try (FrameWriter writer = new FrameWriter(stalled(isFree), null, failures::incrementAndGet)) {
      for (int i = 0; i < 262_144; i++) {
        writer.send(FrameType.LEAVE, out -> {});
      }
      assertEquals(0, failures.get());
      for (int i = 0; i < 40_000; i++) { // some wait in its buffer
        writer.send(FrameType.LEAVE, out -> {});
      }
      assertTrue(failures.get() > 0);
      isFree.countDown();
    }
  }

  private static OutputStream stalled(CountDownLatch isFree) {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        try {
          isFree.await();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    };
  }

  @Test
  void shouldSendAFrameAtOnceWhereNoOtherOneWaits() throws Exception {
    final PipedInputStream in = new PipedInputStream();
    try (FrameWriter writer = new FrameWriter(new PipedOutputStream(in), null, () -> {})) {
      writer.send(FrameType.FORGET, out -> out.writeInt(7));
      assertEquals(5, new DataInputStream(in).readInt());
      writer.event(FrameType.QUESTION, out -> out.writeInt(8));
      in.skipNBytes(5);
      assertEquals(5, new DataInputStream(in).readInt());
    }
  }

  @Test
  void shouldSayThatNothingCanBeWrittenAnyMore() throws Exception {
    final CountDownLatch hasFailed = new CountDownLatch(1);
    final PipedInputStream in = new PipedInputStream();
    final FrameWriter writer =
        new FrameWriter(new PipedOutputStream(in), null, hasFailed::countDown);
    in.close();
    writer.send(FrameType.FORGET, out -> out.writeInt(1));
    assertTrue(hasFailed.await(10, TimeUnit.SECONDS));
  }

  private static void refuse(byte[] frames) {
    assertThrows(
        IOException.class,
        () ->
            new FrameReader(new ByteArrayInputStream(frames), LONGEST)
                .run((type, body) -> body.readInt()));
  }

  private static byte[] frame(int length, int type, int bodyBytes) {
    return ByteBuffer.allocate(5 + bodyBytes).putInt(length).put((byte) type).array();
  }

  @Test
  void shouldRefuseWhatIsNoFrame() throws IOException {
    new FrameReader(new ByteArrayInputStream(frame(5, 1, 4)), LONGEST)
        .run((type, body) -> assertEquals(0, body.readInt()));
    new FrameReader(new ByteArrayInputStream(frame(LONGEST, 1, LONGEST - 1)), LONGEST)
        .run((type, body) -> assertEquals(LONGEST - 1, body.readAllBytes().length));
    refuse(frame(0, 1, 4));
    refuse(frame(-1, 1, 4));
    refuse(frame(LONGEST + 1, 1, LONGEST));
    refuse(frame(5, FrameType.values().length, 4));
    refuse(frame(5, -1, 4));
    refuse(frame(6, 1, 5)); // a byte too many
    refuse(frame(4, 1, 3)); // and one too few
    refuse(frame(100, 1, 4)); // it ends in the frame
  }

  /** Whatever a process sends, it costs no more than its bytes, and is refused by one exception. */
  @Test
  void shouldReadRandomBytesOrRefuseThem() {
    final Random random = new Random(3);
    final List<Wire.Reader<?>> readers =
        List.of(
            EventCodec::readRequest,
            EventCodec::readQuestion,
            CountsCodec::read,
            Wire::readFlow,
            Wire::readText,
            (DataInput in) -> Wire.readAll(in, Wire::readAddress));
    for (int i = 0; i < 20_000; i++) {
      final byte[] bytes = new byte[random.nextInt(200)];
      random.nextBytes(bytes);
      for (int j = random.nextInt(20); j < bytes.length; j++) {
        bytes[j] = random.nextInt(3) == 0 ? bytes[j] : 0; // lengths that are not all too long
      }
      for (final Wire.Reader<?> reader : readers) {
        try {
          reader.read(new DataInputStream(new ByteArrayInputStream(bytes)));
        } catch (IOException refused) {
          // the only exception
        }
      }
    }
  }
}
