package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.dns.proxy.DeniedNameException;
import agent.dns.proxy.DnsCounter;
import agent.dns.proxy.DnsObserver;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyFeed;
import agent.policy.resolve.ResolvedPolicy;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the agent tells a proxy process, and what it does with all that one can send. */
@Timeout(60)
class ProxyChildTest {
  private static final int FIRST_PORT = 12_000;
  private static final int MOST_WAITING = 16_384;
  private static final IpAddress IPV4 = IpAddress.parse("192.0.2.1");
  private static final IpAddress IPV6 = IpAddress.parse("2001:db8::1");
  private static final String NAME = "www.example.com.";

  private final FakeAgentParts agent = new FakeAgentParts();
  private final FakeProxyProcess process = new FakeProxyProcess();
  private final AtomicInteger ends = new AtomicInteger();
  private final CompletableFuture<ProxyChild> ended = new CompletableFuture<>();
  private ProxyChild child;

  @BeforeEach
  void start() throws IOException {
    child = start(process);
  }

  private ProxyChild start(FakeProxyProcess with) throws IOException {
    return ProxyChild.start(
        () -> new ProxyChild.Started(with, null),
        agent.parts(),
        gone -> {
          ends.incrementAndGet();
          ended.complete(gone);
        });
  }

  @AfterEach
  void stop() {
    process.exit(0);
  }

  private String awaitEnd() throws Exception {
    return ended.get(10, TimeUnit.SECONDS).reason();
  }

  private static String failure(CompletableFuture<?> call) {
    return assertThrows(ExecutionException.class, () -> call.get(10, TimeUnit.SECONDS))
        .getCause()
        .getMessage();
  }

  /** Skips the frame of the start. */
  private void started() throws Exception {
    process.expect(FrameType.START);
  }

  private static Map<String, String> readPins(DataInput in) throws IOException {
    final Map<String, String> pins = new LinkedHashMap<>();
    Wire.readAll(in, from -> pins.put(Wire.readText(from), Wire.readText(from)));
    return pins;
  }

  @Test
  void shouldSendPinsIdentitiesAndTheAddressOfEachFamily() throws Exception {
    final DataInputStream in = process.expect(FrameType.START);
    assertEquals(Map.of("flows", "/pins/a"), readPins(in));
    assertEquals("/pins/tcp", Wire.readText(in));
    assertEquals("/pins/udp", Wire.readText(in));
    assertEquals(41, in.readInt());
    assertEquals(61, in.readInt());
    assertTrue(in.readBoolean());
    assertEquals(agent.address4.orElseThrow(), Wire.readAddress(in));
    assertTrue(in.readBoolean());
    assertEquals(agent.address6.orElseThrow(), Wire.readAddress(in));
    assertEquals(0, in.available());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldSendTheAddressOfOneFamilyInItsPlace(boolean isIpv6) throws Exception {
    final FakeProxyProcess other = new FakeProxyProcess();
    if (isIpv6) {
      agent.address4 = Optional.empty();
    } else {
      agent.address6 = Optional.empty();
    }
    start(other);
    final DataInputStream in = other.expect(FrameType.START);
    readPins(in);
    Wire.readText(in);
    Wire.readText(in);
    in.skipBytes(8);
    assertEquals(!isIpv6, in.readBoolean());
    assertEquals(isIpv6, isIpv6 ? in.readBoolean() : Wire.readAddress(in).isIpv6());
    assertEquals(isIpv6, isIpv6 ? Wire.readAddress(in).isIpv6() : in.readBoolean());
    other.exit(0);
  }

  @Test
  void shouldBeReadyOrSayWhyNot() throws Exception {
    process.send(FrameType.READY, out -> Wire.writeText(out, ""));
    child.ready().get(10, TimeUnit.SECONDS);
    final FakeProxyProcess other = new FakeProxyProcess();
    final ProxyChild refused = start(other);
    other.send(FrameType.READY, out -> Wire.writeText(out, "no rights to give up"));
    assertEquals("no rights to give up", failure(refused.ready()));
    other.exit(0);
  }

  private void opened(long call, int port, String failure) {
    process.send(
        FrameType.OPENED,
        out -> {
          out.writeLong(call);
          out.writeShort(port);
          Wire.writeText(out, failure);
        });
  }

  @Test
  void shouldAnswerEachCallByItsNumber() throws Exception {
    started();
    final var http = child.open(RedirectKind.HTTP, 20_000, out -> out.writeInt(5));
    final var dns = child.open(RedirectKind.DNS, 30_000, out -> out.writeInt(6));
    final DataInputStream first = process.expect(FrameType.OPEN);
    final long call = first.readLong();
    assertEquals(RedirectKind.HTTP, Wire.readEnum(first, RedirectKind.values()));
    assertEquals(20_000, first.readUnsignedShort());
    assertEquals(5, first.readInt());
    final long other = process.expect(FrameType.OPEN).readLong();
    opened(other, 31_000, "");
    opened(call, 65_536 - RedirectProxy.PORTS, "");
    opened(call, 1_234, ""); // the call has its answer
    opened(99, 1_235, ""); // there is no such call
    assertEquals(31_000, dns.get(10, TimeUnit.SECONDS));
    assertEquals(65_536 - RedirectProxy.PORTS, http.get(10, TimeUnit.SECONDS));
    assertTrue(child.isAlive());
    final var third = child.open(RedirectKind.HTTP, 0, out -> {});
    opened(process.expect(FrameType.OPEN).readLong(), 0, "no ports");
    assertEquals("no ports", failure(third));
    assertTrue(child.isAlive());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 65_536 - RedirectProxy.PORTS + 1, 65_535})
  void shouldEndAProcessWhosePortsAreNone(int port) throws Exception {
    started();
    final var call = child.open(RedirectKind.HTTP, 0, out -> {});
    opened(process.expect(FrameType.OPEN).readLong(), port, "");
    assertTrue(failure(call).contains("ports from " + port + " on"), failure(call));
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
  }

  /** What only the agent sends is nothing that a process may say. */
  @ParameterizedTest
  @EnumSource(
      value = FrameType.class,
      names = {
        "START",
        "OPEN",
        "POLICY",
        "COMMIT",
        "REMOVE",
        "ENFORCE",
        "REPORT",
        "FORGET",
        "HEAR",
        "JOINED",
        "RELEASED"
      })
  void shouldEndAProcessThatSendsAFrameOfTheAgent(FrameType type) throws Exception {
    process.send(type, out -> {});
    assertTrue(awaitEnd().contains("a frame of type " + type), child.reason());
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
    assertFalse(child.isAlive());
    assertEquals(1, ends.get());
  }

  @Test
  void shouldEndAProcessWhoseFrameIsLongerThanAMegabyte() throws Exception {
    process.send(FrameType.READY, out -> out.write(new byte[1 << 20]));
    assertTrue(awaitEnd().contains("a frame of 1048577 bytes"), child.reason());
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
  }

  private long found(
      long call, int endpoint, String name, List<IpAddress> addresses, String alias) {
    process.send(
        FrameType.FOUND,
        out -> {
          out.writeLong(call);
          out.writeInt(endpoint);
          Wire.writeText(out, name);
          Wire.writeAll(out, addresses, Wire::writeAddress);
          out.writeLong(alias.isEmpty() ? -5 : 300);
          Wire.writeAll(out, alias.isEmpty() ? List.of() : List.of(alias), Wire::writeText);
        });
    return call;
  }

  private String released(long call) throws Exception {
    final DataInputStream in = process.expect(FrameType.RELEASED);
    assertEquals(call, in.readLong());
    final boolean isDenied = in.readBoolean();
    final String failure = Wire.readText(in);
    return isDenied + " " + failure + " " + Wire.readAll(in, Wire::readAddress);
  }

  @Test
  void shouldReleaseTheAddressesThatTheGateReleases() throws Exception {
    started();
    agent.allowed.add("7 www.example.com");
    final long call = found(3, 7, NAME, List.of(IPV4, IPV6), "alias.example.com.");
    assertEquals(
        "found 7 www.example.com. [192.0.2.1, 2001:db8::1] 300 [alias.example.com.]",
        agent.calls.poll(10, TimeUnit.SECONDS));
    assertEquals(0, process.more(), "it waits for the gate");
    agent.released.complete(Set.of(IPV6));
    assertEquals("false  [2001:db8::1]", released(call));
    found(4, 7, NAME, List.of(IPV4), "");
    assertEquals(
        "found 7 www.example.com. [192.0.2.1] 0 []",
        agent.calls.poll(10, TimeUnit.SECONDS),
        "no time before now");
  }

  @Test
  void shouldSayWhyTheGateReleasesNothing() throws Exception {
    started();
    agent.allowed.add("0 www.example.com");
    agent.released.completeExceptionally(new OperationException("the map is full"));
    assertEquals("false the map is full []", released(found(1, 0, NAME, List.of(IPV4), "a.test.")));
    agent.released =
        CompletableFuture.failedFuture(new CompletionException(new OperationException("inner")));
    assertEquals("false inner []", released(found(2, 0, NAME, List.of(IPV4), "a.test.")));
    agent.released = CompletableFuture.failedFuture(new DeniedNameException());
    assertTrue(released(found(3, 0, NAME, List.of(IPV4), "a.test.")).startsWith("true "));
  }

  @Test
  void shouldAskTheGateForNoNameThatItsEndpointMayNotAskFor() throws Exception {
    started();
    final String longest = "a".repeat(255) + ".";
    agent.allowed.addAll(Set.of("7 www.example.com", "7 " + "a".repeat(255), "8 other.test"));
    agent.allowed.add("7 " + "a".repeat(256));
    agent.allowed.add("7 www.example.co");
    agent.released.complete(Set.of(IPV4));
    assertEquals("false  [192.0.2.1]", released(found(1, 7, longest, List.of(IPV4), longest)));
    for (final String name : List.of("other.test.", "www.example.com", "a".repeat(256) + ".")) {
      assertTrue(released(found(2, 7, name, List.of(IPV4), "")).startsWith("true "), name);
    }
    assertTrue(released(found(3, 0, NAME, List.of(IPV4), "")).startsWith("true "));
    assertTrue(released(found(4, 7, NAME, List.of(), "")).startsWith("true "), "no address");
    assertTrue(released(found(5, 7, NAME, List.of(IPV4), "a" + longest)).startsWith("true "));
    assertEquals(1, agent.calls.size(), agent.calls.toString());
  }

  @Test
  void shouldBoundTheAnswersThatWaitForTheGate() throws Exception {
    started();
    agent.allowed.add("7 www.example.com");
    for (int call = 1; call <= MOST_WAITING; call++) {
      found(call, 7, NAME, List.of(IPV4), "");
    }
    for (int round = 0; round < 2; round++) {
      final String said = released(found(MOST_WAITING + 1, 7, NAME, List.of(IPV4), ""));
      assertEquals("false too many answers wait []", said);
    }
    final CompletableFuture<Set<IpAddress>> first = agent.released;
    agent.released = new CompletableFuture<>();
    first.complete(Set.of(IPV4));
    for (int call = 1; call <= MOST_WAITING; call++) {
      process.expect(FrameType.RELEASED);
    }
    for (int call = 1; call <= MOST_WAITING; call++) {
      found(call, 7, NAME, List.of(IPV4), "");
    }
    assertEquals(
        "false too many answers wait []",
        released(found(MOST_WAITING + 1, 7, NAME, List.of(IPV4), "")),
        "and none before it");
  }

  private void socket(FrameType type, long call, RedirectedFlow flow, int port) {
    process.send(
        type,
        out -> {
          if (type == FrameType.JOIN) {
            out.writeLong(call);
          }
          Wire.writeFlow(out, flow);
          out.writeShort(port);
        });
  }

  private String joined(long call) throws Exception {
    final DataInputStream in = process.expect(FrameType.JOINED);
    assertEquals(call, in.readLong());
    return Wire.readText(in);
  }

  @Test
  void shouldJoinSocketsOfFlowsAtThePortsThatTheProcessHasOpened() throws Exception {
    started();
    agent.sent.put(FIRST_PORT + 1, FakeAgentParts.FLOW);
    socket(FrameType.JOIN, 5, FakeAgentParts.FLOW, 40_000);
    assertEquals("the datapath sends no such flow", joined(5));
    child.open(RedirectKind.HTTP, 0, out -> {});
    opened(process.expect(FrameType.OPEN).readLong(), FIRST_PORT, "");
    socket(FrameType.JOIN, 6, FakeAgentParts.FLOW, 65_535);
    assertEquals("", joined(6));
    socket(FrameType.JOIN, 7, FakeAgentParts.FLOW, 40_001);
    assertEquals("", joined(7));
    socket(FrameType.LEAVE, 0, FakeAgentParts.FLOW, 65_535);
    process.exit(3);
    assertTrue(awaitEnd().endsWith("(exit status 3)"), child.reason());
    assertEquals(
        List.of(
            "join 10.1.0.2 65535",
            "join 10.1.0.2 40001",
            "leave 10.1.0.2 65535",
            "leave 10.1.0.2 40001"),
        new ArrayList<>(agent.calls),
        "the last one leaves with the process");
  }

  /** The frame of a flow that has gone may come after that of the next one on its port. */
  @Test
  void shouldLeaveAPortToTheFlowThatHasItNow() throws Exception {
    started();
    final RedirectedFlow next =
        new RedirectedFlow(6, FakeAgentParts.FLOW.client(), 4_001, 1_001, 7, IPV4, 81, 1_003, 8);
    agent.sent.put(FIRST_PORT, FakeAgentParts.FLOW);
    child.open(RedirectKind.HTTP, 0, out -> {});
    opened(process.expect(FrameType.OPEN).readLong(), FIRST_PORT, "");
    socket(FrameType.JOIN, 1, FakeAgentParts.FLOW, 40_000);
    assertEquals("", joined(1));
    agent.sent.put(FIRST_PORT, next);
    socket(FrameType.JOIN, 2, next, 40_000);
    assertEquals("", joined(2));
    socket(FrameType.LEAVE, 0, FakeAgentParts.FLOW, 40_000);
    socket(FrameType.LEAVE, 0, next, 40_000);
    process.exit(0);
    awaitEnd();
    assertEquals(
        List.of(
            "join 10.1.0.2 40000",
            "leave 10.1.0.2 40000",
            "join 192.0.2.1 40000",
            "leave 192.0.2.1 40000"),
        new ArrayList<>(agent.calls));
  }

  @Test
  void shouldBoundTheSocketsThatWaitForTheDatapath() throws Exception {
    started();
    agent.sent.put(FIRST_PORT, FakeAgentParts.FLOW);
    child.open(RedirectKind.HTTP, 0, out -> {});
    opened(process.expect(FrameType.OPEN).readLong(), FIRST_PORT, "");
    final CompletableFuture<Void> first = new CompletableFuture<>();
    agent.joined = first;
    for (int call = 1; call <= MOST_WAITING; call++) {
      socket(FrameType.JOIN, call, FakeAgentParts.FLOW, 40_000);
    }
    socket(FrameType.JOIN, MOST_WAITING + 1, FakeAgentParts.FLOW, 40_000);
    assertEquals("too many sockets", joined(MOST_WAITING + 1));
    agent.joined = CompletableFuture.completedFuture(null);
    first.complete(null);
    for (int call = 1; call <= MOST_WAITING; call++) {
      process.expect(FrameType.JOINED);
    }
    socket(FrameType.JOIN, 1, FakeAgentParts.FLOW, 40_000);
    assertEquals("", joined(1));
  }

  @Test
  void shouldServeNoPortsThatNoCallHasAskedFor() throws Exception {
    started();
    agent.sent.put(FIRST_PORT, FakeAgentParts.FLOW);
    opened(77, FIRST_PORT, "");
    socket(FrameType.JOIN, 1, FakeAgentParts.FLOW, 40_000);
    assertEquals("the datapath sends no such flow", joined(1));
  }

  private static ResolvedPolicy policy(int identity) {
    return new ResolvedPolicy(1, identity, List.of(), null, null, Set.of(), Set.of(), List.of());
  }

  @Test
  void shouldSendAPolicyOnceForAllItsEndpointsAndThenTheRevision() throws Exception {
    started();
    final PolicyFeed.Follower follower = agent.followers.getFirst();
    final ResolvedPolicy shared = policy(100);
    final Map<Integer, ResolvedPolicy> changed = new LinkedHashMap<>();
    changed.put(1, shared);
    changed.put(2, policy(100)); // as good as the same, of another one
    changed.put(3, shared);
    follower.onPublished(9, changed);
    final List<List<Integer>> sent = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      sent.add(Wire.readAll(process.expect(FrameType.POLICY), DataInput::readInt));
    }
    assertEquals(Set.of(List.of(1, 3), List.of(2)), Set.copyOf(sent));
    assertEquals(9, process.expect(FrameType.COMMIT).readLong());
    follower.onRemoved(3);
    assertEquals(3, process.expect(FrameType.REMOVE).readInt());
    assertEquals(0, process.more());
  }

  @Test
  void shouldAnswerPassesAndReports() throws Exception {
    started();
    final CompletableFuture<Void> pass = child.enforce();
    final CompletableFuture<Void> next = child.enforce();
    final long first = process.expect(FrameType.ENFORCE).readLong();
    final long second = process.expect(FrameType.ENFORCE).readLong();
    process.send(FrameType.ENFORCED, out -> out.writeLong(second));
    next.get(10, TimeUnit.SECONDS);
    assertFalse(pass.isDone(), "the answer is that of the other one");
    process.send(FrameType.ENFORCED, out -> out.writeLong(first));
    pass.get(10, TimeUnit.SECONDS);
    final CompletableFuture<ProxyCounts> report = child.report(77);
    final DataInputStream in = process.expect(FrameType.REPORT);
    final long call = in.readLong();
    assertEquals(77, in.readInt());
    final ProxyCounts counts =
        new ProxyCounts(
            Map.of(),
            new ProxyCounts.Connections(1, 2, 3, 4),
            Map.of(DnsCounter.CUT, 5L),
            Map.of());
    process.send(
        FrameType.REPORTED,
        out -> {
          out.writeLong(call);
          CountsCodec.write(out, counts);
        });
    assertEquals(counts, report.get(10, TimeUnit.SECONDS));
    child.forget(78);
    assertEquals(78, process.expect(FrameType.FORGET).readInt());
    for (final boolean isHeard : new boolean[] {true, false}) {
      child.hear(isHeard);
      final DataInputStream heard = process.expect(FrameType.HEAR);
      assertEquals(isHeard, heard.readBoolean());
      assertEquals(ForwardedLog.level().name(), Wire.readText(heard));
    }
  }

  @Test
  void shouldPassOnWhatBecameOfRequestsAndQuestions() throws Exception {
    final RequestRecord request =
        new RequestRecord(
            Instant.ofEpochMilli(5),
            RequestRecord.Verdict.ERROR,
            FakeAgentParts.FLOW,
            "HTTP/1.1",
            "GET",
            "/a",
            "b.test",
            502,
            3,
            List.of());
    final DnsObserver.Event question =
        new DnsObserver.Event(
            FakeAgentParts.FLOW, NAME, 28, 0, DnsObserver.Verdict.FORWARDED, List.of(IPV6), 9);
    process.send(FrameType.REQUEST, out -> EventCodec.write(out, request));
    process.send(FrameType.QUESTION, out -> EventCodec.write(out, question));
    process.exit(0);
    awaitEnd();
    assertEquals(List.of(request), agent.requests);
    assertEquals(List.of(question), agent.questions);
  }

  @Test
  void shouldFailWhatWaitsAndWhatComesWhenTheProcessIsGone() throws Exception {
    assertEquals(1, agent.followers.size());
    final List<CompletableFuture<?>> waiting =
        List.of(
            child.ready(),
            child.open(RedirectKind.DNS, 0, out -> {}),
            child.enforce(),
            child.report(0));
    process.exit(4);
    awaitEnd();
    waiting.forEach(
        call ->
            assertEquals(
                "the proxy process has ended: it has ended (exit status 4)", failure(call)));
    assertInstanceOf(
        ProxyProcessException.class,
        assertThrows(ExecutionException.class, () -> child.enforce().get(10, TimeUnit.SECONDS))
            .getCause());
    assertEquals(List.of(), agent.followers);
    assertEquals(1, ends.get());
  }

  /** A JVM waits for its threads before it ends by itself, for which the agent does not wait. */
  @Test
  void shouldBeKilledAtOnceWhereItStays() throws Exception {
    child.close();
    process.awaitExit();
    assertTrue(awaitEnd().startsWith("stopped by the agent"), child.reason());
    long shortestMs = Long.MAX_VALUE; // the machine may be busy
    for (int i = 0; i < 3 && shortestMs >= 1_900; i++) {
      final FakeProxyProcess stays = new FakeProxyProcess(true);
      final ProxyChild next = start(stays);
      final long before = System.nanoTime();
      next.close();
      assertEquals(FakeProxyProcess.KILLED, stays.awaitExit());
      shortestMs = Math.min(shortestMs, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before));
    }
    assertTrue(shortestMs < 1_900, "took " + shortestMs + " ms");
  }
}
