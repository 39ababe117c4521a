package agent.domain.proxy;

import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.dns.NameResolver.Resolved;
import agent.dns.proxy.DnsCounter;
import agent.dns.proxy.DnsObserver;
import agent.fuzz.FuzzInputs;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyFeed;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import agent.types.IpAddress;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * What a proxy process sends to the agent, which does not trust it: the gate is asked only for
 * names and by endpoints that rules allow, sockets get only what the datapath knows, each call has
 * one answer, and a process that sends anything else is ended.
 */
public final class ProxyFrameFuzz {
  private static final int LONGEST_NAME = 256;
  private static final int CLIENT_IDENTITY = 1_001;
  private static final IpAddress CLIENT = IpAddress.parse("10.1.0.1");
  private static final IpAddress SERVER = IpAddress.parse("fd00::2");
  private static final RedirectedFlow FLOW = flow(6, CLIENT, 4_000);

  private static final Wire.Reader<RequestRecord> READ_REQUEST = EventCodec::readRequest;
  private static final Wire.Reader<DnsObserver.Event> READ_QUESTION = EventCodec::readQuestion;

  /** Each frame of a process, then some after another, a wrong one, and one cut off. */
  public static final List<byte[]> SEEDS = seeds();

  private final List<Throwable> failures = new ArrayList<>();
  private final ByteArrayOutputStream answers = new ByteArrayOutputStream();
  private final ProxyChild child;
  private boolean isKilled;
  private int asked;

  private ProxyFrameFuzz(byte[] input) {
    child =
        new ProxyChild(
            parts(),
            new ProxyChild.Started(new Ended(new ByteArrayInputStream(input)), null),
            gone -> {});
  }

  private static RedirectedFlow flow(int protocol, IpAddress client, int clientPort) {
    return new RedirectedFlow(
        protocol, client, clientPort, CLIENT_IDENTITY, 7, SERVER, 80, 1_002, 9);
  }

  private static byte[] frame(FrameType type, FrameWriter.Body body) throws IOException {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    body.write(new DataOutputStream(bytes));
    final ByteArrayOutputStream frame = new ByteArrayOutputStream();
    final DataOutputStream out = new DataOutputStream(frame);
    out.writeInt(1 + bytes.size());
    out.writeByte(type.ordinal());
    bytes.writeTo(out);
    return frame.toByteArray();
  }

  private static byte[] join(byte[]... frames) {
    final ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (final byte[] frame : frames) {
      all.writeBytes(frame);
    }
    return all.toByteArray();
  }

  private static List<byte[]> seeds() {
    try {
      final byte[] ready = frame(FrameType.READY, out -> Wire.writeText(out, ""));
      final byte[] opened = frame(FrameType.OPENED, ProxyFrameFuzz::writeOpened);
      final byte[] joined = frame(FrameType.JOIN, ProxyFrameFuzz::writeJoin);
      final byte[] found = frame(FrameType.FOUND, ProxyFrameFuzz::writeFound);
      return List.of(
          ready,
          join(ready, opened, joined),
          found,
          join(found, found),
          frame(FrameType.REQUEST, out -> EventCodec.write(out, request())),
          frame(FrameType.QUESTION, out -> EventCodec.write(out, question())),
          frame(FrameType.REPORTED, ProxyFrameFuzz::writeReported),
          frame(FrameType.ENFORCED, out -> out.writeLong(1)),
          frame(FrameType.MESSAGE, ProxyFrameFuzz::writeMessage),
          frame(FrameType.START, out -> {}),
          new byte[] {0, 0, 0, 9, (byte) FrameType.READY.ordinal()});
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void writeOpened(DataOutput out) throws IOException {
    out.writeLong(1);
    out.writeShort(12_000);
    Wire.writeText(out, "");
  }

  private static void writeJoin(DataOutput out) throws IOException {
    out.writeLong(5);
    Wire.writeFlow(out, FLOW);
    out.writeShort(40_000);
  }

  private static void writeFound(DataOutput out) throws IOException {
    out.writeLong(6);
    out.writeInt(8);
    Wire.writeText(out, "a.test.");
    Wire.writeAll(out, List.of(CLIENT, SERVER), Wire::writeAddress);
    out.writeLong(60);
    Wire.writeAll(out, List.of("b.test."), Wire::writeText);
  }

  private static void writeReported(DataOutput out) throws IOException {
    out.writeLong(1);
    CountsCodec.write(
        out,
        new ProxyCounts(
            Map.of(RequestRecord.Verdict.DENIED, 1L),
            new ProxyCounts.Connections(1, 2, 3, 4),
            Map.of(DnsCounter.CUT, 5L),
            Map.of(
                RedirectKind.DNS,
                List.of(
                    new RedirectStatistics(
                        PolicyDirection.INGRESS,
                        53,
                        new Messages(1, 2, 3, 4),
                        new Messages(5, 6, 7, 8))))));
  }

  private static void writeMessage(DataOutput out) throws IOException {
    for (final String text : List.of("INFO", "agent.l7proxy.Upstream", "{} ends", "it ends")) {
      Wire.writeText(out, text);
    }
  }

  private static RequestRecord request() {
    return new RequestRecord(
        Instant.EPOCH,
        RequestRecord.Verdict.FORWARDED,
        FLOW,
        "HTTP/2",
        "GET",
        "/",
        "a.test",
        200,
        1,
        List.of("x"));
  }

  private static DnsObserver.Event question() {
    return new DnsObserver.Event(
        FLOW, "a.test.", 1, 0, DnsObserver.Verdict.FORWARDED, List.of(CLIENT), 60);
  }

  /** Reads what a process sends, from its beginning to its end. */
  public static void fuzzerTestOneInput(byte[] input) throws Exception {
    new ProxyFrameFuzz(input).run();
  }

  private void run() throws Exception {
    final CompletableFuture<Integer> port = child.open(RedirectKind.HTTP, 0, out -> {});
    final CompletableFuture<ProxyCounts> report = child.report(0);
    child.read();
    for (final Throwable failure : failures) {
      throw new AssertionError(failure);
    }
    FuzzInputs.assertSame(true, port.isDone() && report.isDone(), "calls end with the process");
    FuzzInputs.assertSame(false, child.isAlive(), "it has ended");
    if (!port.isCompletedExceptionally()) {
      final int first = port.join();
      FuzzInputs.assertSame(true, first > 0 && first + RedirectProxy.PORTS <= 65_536, "" + first);
    }
    if (!report.isCompletedExceptionally()) {
      final ProxyCounts counts = report.join();
      same(counts, out -> CountsCodec.write(out, counts), CountsCodec::read);
    }
    assertAnswers();
    FuzzInputs.assertSame(isKilled, !child.reason().startsWith("it has ended"), child.reason());
  }

  /** The process gets the two calls of {@link #run}, and answers to its own ones. */
  private void assertAnswers() throws IOException {
    final List<FrameType> types = new ArrayList<>();
    new FrameReader(new ByteArrayInputStream(answers.toByteArray()), 1 << 20)
        .run(
            (type, body) -> {
              types.add(type);
              body.readAllBytes();
            });
    FuzzInputs.assertSame(List.of(FrameType.OPEN, FrameType.REPORT), types.subList(0, 2), "calls");
    final List<FrameType> others = types.subList(2, types.size());
    final long released = others.stream().filter(type -> type == FrameType.RELEASED).count();
    final long joined = others.stream().filter(type -> type == FrameType.JOINED).count();
    FuzzInputs.assertSame((long) others.size(), released + joined, types.toString());
    FuzzInputs.assertSame(true, asked <= released, "each question has an answer");
  }

  private static <T> void same(T value, FrameWriter.Body body, Wire.Reader<T> reader)
      throws IOException {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    body.write(new DataOutputStream(bytes));
    final DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
    FuzzInputs.assertSame(value, reader.read(in), value.toString());
  }

  private ProxyChild.Parts parts() {
    return new ProxyChild.Parts(
        implementing(NodeRedirects.class, this::redirect),
        implementing(PolicyFeed.class, this::policy),
        this::found,
        request -> check(() -> same(request, o -> EventCodec.write(o, request), READ_REQUEST)),
        asked -> check(() -> same(asked, o -> EventCodec.write(o, asked), READ_QUESTION)));
  }

  private interface Check {
    void run() throws IOException;
  }

  /** A frame whose handling throws is refused: what is wrong is kept apart. */
  private void check(Check check) {
    try {
      check.run();
    } catch (IOException | RuntimeException | AssertionError e) {
      failures.add(e);
    }
  }

  private interface Call {
    Object of(String method, Object[] arguments);
  }

  private static <T> T implementing(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> call.of(method.getName(), arguments)));
  }

  private Object redirect(String method, Object[] arguments) {
    return switch (method) {
      case "find" ->
          Optional.of(flow((int) arguments[0], (IpAddress) arguments[1], (int) arguments[2]));
      case "join" -> {
        final RedirectedFlow flow = (RedirectedFlow) arguments[0];
        check(
            () ->
                FuzzInputs.assertSame(
                    flow(flow.protocol(), flow.client(), flow.clientPort()), flow, "joined"));
        yield CompletableFuture.completedFuture(null);
      }
      default -> null;
    };
  }

  private Object policy(String method, Object[] arguments) {
    if (!method.equals("mayAsk")) {
      return null;
    }
    final int length = ((String) arguments[1]).length();
    check(() -> FuzzInputs.assertSame(true, length < LONGEST_NAME, "a name of " + length));
    return mayAsk((int) arguments[0]);
  }

  private static boolean mayAsk(int endpointId) {
    return endpointId % 2 == 0;
  }

  private CompletableFuture<Set<IpAddress>> found(int endpointId, String name, Resolved answer) {
    asked++;
    check(
        () -> {
          FuzzInputs.assertSame(true, mayAsk(endpointId), "endpoint " + endpointId);
          FuzzInputs.assertSame(true, name.endsWith(".") && name.length() <= LONGEST_NAME, name);
          FuzzInputs.assertSame(false, answer.addresses().isEmpty(), "addresses");
          FuzzInputs.assertSame(true, answer.ttlSec() >= 0, "a time");
          for (final String alias : answer.aliases()) {
            FuzzInputs.assertSame(true, alias.length() <= LONGEST_NAME, alias);
          }
        });
    return CompletableFuture.completedFuture(Set.copyOf(answer.addresses()));
  }

  /** A process that has sent all of its frames. */
  private final class Ended extends Process {
    private final InputStream frames;

    Ended(InputStream frames) {
      this.frames = frames;
    }

    @Override
    public OutputStream getOutputStream() {
      return answers;
    }

    @Override
    public InputStream getInputStream() {
      return frames;
    }

    @Override
    public InputStream getErrorStream() {
      return InputStream.nullInputStream();
    }

    @Override
    public int waitFor() {
      return 0;
    }

    @Override
    public boolean waitFor(long timeout, TimeUnit unit) {
      return true;
    }

    @Override
    public int exitValue() {
      return 0;
    }

    @Override
    public void destroy() {
      isKilled = true;
    }
  }
}
