package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsCounter;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestRecord;
import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import agent.types.IpAddress;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The process of the proxies over its lives: what is kept, counted and reported. */
@Timeout(60)
class RemoteProxiesTest {
  private static final long LONGEST_SEC = 10;
  private static final long REPORT_MS = 1_000;
  private static final RedirectStatistics REDIRECT =
      new RedirectStatistics(
          PolicyDirection.EGRESS, 80, new Messages(1, 2, 3, 4), new Messages(5, 6, 7, 8));

  /** Each counter has a value of its own. */
  private static final ProxyCounts COUNTED =
      new ProxyCounts(
          Map.of(Verdict.DENIED, 10L),
          new ProxyCounts.Connections(7, 20, 30, 40),
          Map.of(DnsCounter.CUT, 50L),
          Map.of(RedirectKind.HTTP, List.of(REDIRECT)));

  @TempDir private Path folder;
  private final FakeAgentParts agent = new FakeAgentParts();
  private final AtomicLong clockNs = new AtomicLong(5);
  private final AtomicBoolean isHeard = new AtomicBoolean();
  private final BlockingQueue<String> frames = new LinkedBlockingQueue<>();
  private final BlockingQueue<String> lost = new LinkedBlockingQueue<>();
  private String refusal = "";
  private volatile boolean isSilent;
  private volatile boolean disobeys;
  private volatile CompletableFuture<Void> mayOpen = CompletableFuture.completedFuture(null);
  private volatile Path accessLog;
  private volatile FakeProxyProcess process;
  private final RemoteProxies proxies =
      new RemoteProxies(
          () -> new ProxyChild.Started(process = serve(new FakeProxyProcess()), null),
          agent.parts(),
          new RemoteProxies.Options(
              () -> new HttpProxyContext().retries(9).accessLog(accessLog),
              () -> new DnsProxyContext().port(5_353),
              identity -> List.of("any:number=" + identity),
              isHeard::get),
          clockNs::get,
          false);

  @AfterEach
  void stop() {
    proxies.close();
  }

  /** Answers as the process does. */
  private FakeProxyProcess serve(FakeProxyProcess served) {
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                served.expect(FrameType.START);
                served.send(FrameType.READY, out -> Wire.writeText(out, refusal));
                while (served.isAlive()) {
                  answer(served, served.next());
                }
              } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    return served;
  }

  private void answer(FakeProxyProcess served, FakeProxyProcess.Frame frame) throws IOException {
    if (frame == null) {
      return;
    }
    final DataInputStream in = frame.body();
    switch (frame.type()) {
      case OPEN -> {
        final long call = in.readLong();
        final RedirectKind kind = Wire.readEnum(in, RedirectKind.values());
        final int former = in.readUnsignedShort();
        final boolean isDns = kind == RedirectKind.DNS;
        frames.add(
            "open %s %d %d"
                .formatted(
                    kind,
                    former,
                    isDns ? ContextCodec.readDns(in).port() : ContextCodec.readHttp(in).retries()));
        mayOpen.join();
        served.send(
            FrameType.OPENED,
            out -> {
              out.writeLong(call);
              out.writeShort(isDns ? 31_000 : 21_000);
              Wire.writeText(out, "");
            });
      }
      case HEAR -> frames.add("hear " + in.readBoolean());
      case FORGET -> frames.add("forget " + in.readInt());
      case ENFORCE -> {
        final long call = in.readLong();
        frames.add("enforce");
        if (isSilent) {
          served.exit(0);
        } else if (!disobeys) {
          served.send(FrameType.ENFORCED, out -> out.writeLong(call));
        }
      }
      case REPORT -> {
        final long call = in.readLong();
        frames.add("report " + in.readInt());
        if (!isSilent) {
          served.send(
              FrameType.REPORTED,
              out -> {
                out.writeLong(call);
                CountsCodec.write(out, COUNTED);
              });
        }
      }
      default -> frames.add(frame.type().name());
    }
  }

  private String frame() throws InterruptedException {
    return frames.poll(LONGEST_SEC, TimeUnit.SECONDS);
  }

  private void end(int status) throws InterruptedException {
    process.exit(status);
    assertEquals(
        "the proxy process has ended: it has ended (exit status " + status + ")",
        lost.poll(LONGEST_SEC, TimeUnit.SECONDS));
  }

  @Test
  void shouldStartOneProcessForBothAndAnotherWithThePortsThatWereUsed() throws Exception {
    proxies.whenLost(lost::add);
    assertEquals(Optional.empty(), proxies.process());
    assertEquals(21_000, proxies.start(RedirectKind.HTTP));
    final FakeProxyProcess first = process;
    assertEquals(31_000, proxies.start(RedirectKind.DNS));
    assertEquals(first, process);
    assertTrue(proxies.process().orElseThrow().startsWith("pid " + first.pid() + "; user "));
    assertEquals(
        List.of("hear false", "open HTTP 20000 9", "hear false", "open DNS 30000 5353"),
        List.of(frame(), frame(), frame(), frame()),
        "the ports of the former agent");
    end(6);
    assertEquals("ended: it has ended (exit status 6)", proxies.process().orElseThrow());
    proxies.start(RedirectKind.DNS);
    proxies.start(RedirectKind.HTTP);
    assertTrue(process != first);
    assertEquals(
        List.of("hear false", "open DNS 31000 5353", "hear false", "open HTTP 21000 9"),
        List.of(frame(), frame(), frame(), frame()),
        "its own ports");
  }

  @Test
  void shouldEndAProcessThatIsNotReadyAndStartAnotherOne() throws Exception {
    refusal = "no rights to give up";
    final ProxyProcessException failure =
        assertThrows(ProxyProcessException.class, () -> proxies.start(RedirectKind.HTTP));
    assertEquals("no rights to give up", failure.getMessage());
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
    final FakeProxyProcess first = process;
    proxies.whenLost(lost::add);
    refusal = "";
    assertEquals(21_000, proxies.start(RedirectKind.HTTP));
    assertTrue(process != first);
  }

  @Test
  void shouldStartNothingAfterItsEndAndReportNoLoss() throws Exception {
    proxies.whenLost(lost::add);
    proxies.start(RedirectKind.HTTP);
    proxies.close();
    final int status = process.awaitExit();
    assertTrue(status == 0 || status == FakeProxyProcess.KILLED, "status " + status);
    assertThrows(ProxyProcessException.class, () -> proxies.start(RedirectKind.DNS));
    assertEquals(null, lost.poll(100, TimeUnit.MILLISECONDS));
  }

  @Test
  void shouldStartNoProcessWhereTheAccessLogCannotBeOpened() throws Exception {
    accessLog = folder.resolve("no").resolve("folder");
    assertThrows(IOException.class, () -> proxies.start(RedirectKind.HTTP));
    assertEquals(Optional.empty(), proxies.process(), "its log is opened before it");
    assertEquals(31_000, proxies.start(RedirectKind.DNS), "which has none");
  }

  /** What was counted stays when a process ends; what is open does not. */
  @Test
  void shouldAddWhatEachProcessHasCounted() throws Exception {
    proxies.whenLost(lost::add);
    assertEquals(ProxyCounts.NONE, proxies.report(3));
    proxies.start(RedirectKind.HTTP);
    final ProxyCounts now = proxies.report(3);
    assertEquals(10, now.requests(Verdict.DENIED));
    assertEquals(new ProxyCounts.Connections(7, 20, 30, 0), now.http(), "without a log");
    assertEquals(50, now.questions(DnsCounter.CUT));
    assertEquals(Map.of(RedirectKind.HTTP, List.of(REDIRECT)), now.redirects());
    end(0);
    final ProxyCounts gone = proxies.report(3);
    assertEquals(10, gone.requests(Verdict.DENIED));
    assertEquals(new ProxyCounts.Connections(0, 20, 30, 0), gone.http());
    assertEquals(50, gone.questions(DnsCounter.CUT));
    assertEquals(Map.of(), gone.redirects());
    proxies.start(RedirectKind.HTTP);
    final ProxyCounts both = proxies.report(3);
    assertEquals(20, both.requests(Verdict.DENIED));
    assertEquals(new ProxyCounts.Connections(7, 40, 60, 0), both.http());
    assertEquals(100, both.questions(DnsCounter.CUT));
    assertTrue(frames.containsAll(List.of("report 3")), frames.toString());
  }

  /** A process that does not answer costs a second in five. */
  @Test
  void shouldWaitForAReportASecondAndThenNotForFiveSeconds() throws Exception {
    proxies.start(RedirectKind.HTTP);
    assertEquals(10, proxies.report(3).requests(Verdict.DENIED));
    isSilent = true;
    assertEquals(10, report(REPORT_MS, 5 * REPORT_MS), "what it said last");
    clockNs.addAndGet(TimeUnit.SECONDS.toNanos(5) - 1);
    assertEquals(10, report(0, REPORT_MS), "without waiting");
    frames.clear();
    clockNs.addAndGet(1);
    assertEquals(10, report(REPORT_MS, 5 * REPORT_MS));
    assertEquals("report 3", frame());
    isSilent = false;
    clockNs.addAndGet(TimeUnit.SECONDS.toNanos(5));
    assertEquals(Map.of(RedirectKind.HTTP, List.of(REDIRECT)), proxies.report(3).redirects());
  }

  private long report(long leastMs, long mostMs) {
    final long before = System.nanoTime();
    final ProxyCounts last = proxies.report(3);
    final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before);
    assertTrue(tookMs >= leastMs && tookMs < mostMs, "took " + tookMs + " ms");
    assertEquals(Map.of(), last.redirects());
    return last.requests(Verdict.DENIED);
  }

  /** What rules deny may go on in it for as long as it runs. */
  @Test
  void shouldEndAProcessThatDoesNotObeyWithinFiveSeconds() throws Exception {
    final CompletableFuture<String> lost = new CompletableFuture<>();
    proxies.whenLost(lost::complete);
    proxies.start(RedirectKind.HTTP);
    disobeys = true;
    final long beginNs = System.nanoTime();
    proxies.enforce().get(30, TimeUnit.SECONDS);
    final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
    assertTrue(tookMs >= 4_900, "answered after " + tookMs + " ms");
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
    final String reason = lost.get(LONGEST_SEC, TimeUnit.SECONDS);
    assertTrue(reason.contains("did not apply the rules within 5 s"), reason);
  }

  private void steps(int count, long eachMs) {
    for (int i = 0; i < count; i++) {
      clockNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(eachMs));
      proxies.stepWatch();
    }
  }

  /** Asks as soon as the answer before has come. */
  private void ask() throws Exception {
    frames.clear();
    clockNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(ProcessWatch.PERIOD_MS));
    await(
        () -> {
          proxies.stepWatch();
          return "report 0".equals(frames.poll());
        });
  }

  @Test
  void shouldEndAProcessThatHasNotAnsweredForThirtySecondsAndTell() throws Exception {
    proxies.whenLost(lost::add);
    proxies.stepWatch(); // there is none yet
    proxies.start(RedirectKind.HTTP);
    for (int i = 0; i < 20; i++) {
      ask();
    }
    proxies.report(3); // the last question was answered before this one
    isSilent = true;
    ask();
    steps(5, ProcessWatch.PERIOD_MS);
    assertTrue(process.isAlive(), "after 25 s");
    steps(1, ProcessWatch.PERIOD_MS - 1);
    assertTrue(process.isAlive(), "shortly before 30 s");
    steps(1, 1);
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
    assertEquals(
        "the proxy process has ended: no answer for 30000 ms (exit status 137)",
        lost.poll(LONGEST_SEC, TimeUnit.SECONDS));
    isSilent = false;
    proxies.start(RedirectKind.HTTP);
    ask();
    assertTrue(process.isAlive(), "the next one has its own time");
  }

  /** Where the agent did not run, its process did not either. */
  @Test
  void shouldCountNoTimeInWhichTheAgentDidNotRun() throws Exception {
    proxies.start(RedirectKind.HTTP);
    isSilent = true;
    ask();
    steps(2, TimeUnit.DAYS.toMillis(1));
    assertTrue(process.isAlive(), "two steps of at most 10 s count");
    steps(1, TimeUnit.DAYS.toMillis(1));
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit());
  }

  /** What the process has sent since waits, which is no fault of the process. */
  @Test
  void shouldCountNoTimeInWhichTheAgentWorksOnAFrame() throws Exception {
    proxies.start(RedirectKind.DNS);
    agent.allowed.add("7 a.example");
    agent.takes = new CompletableFuture<>();
    process.send(
        FrameType.FOUND,
        out -> {
          out.writeLong(1);
          out.writeInt(7);
          Wire.writeText(out, "a.example.");
          Wire.writeAll(out, List.of(IpAddress.parse("192.0.2.1")), Wire::writeAddress);
          out.writeLong(60);
          Wire.writeAll(out, List.of(), Wire::writeText);
        });
    assertTrue(agent.calls.poll(LONGEST_SEC, TimeUnit.SECONDS).startsWith("found 7 a.example."));
    isSilent = true;
    ask();
    steps(20, ProcessWatch.PERIOD_MS);
    assertTrue(process.isAlive());
    agent.takes.complete(null);
    await(
        () -> {
          steps(1, ProcessWatch.PERIOD_MS);
          return !process.isAlive();
        });
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit(), "the agent has taken all frames");
  }

  /** A process that opens a proxy answers nothing else, and has a limit for that. */
  @Test
  void shouldEndNoProcessThatOpensAProxy() throws Exception {
    proxies.start(RedirectKind.HTTP);
    ask();
    mayOpen = new CompletableFuture<>();
    final CompletableFuture<Integer> port = new CompletableFuture<>();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                port.complete(proxies.start(RedirectKind.DNS));
              } catch (IOException | RuntimeException e) {
                port.completeExceptionally(e);
              }
            });
    await(() -> frames.contains("open DNS 30000 5353"));
    steps(20, ProcessWatch.PERIOD_MS);
    assertTrue(process.isAlive());
    mayOpen.complete(null);
    assertEquals(31_000, port.get(LONGEST_SEC, TimeUnit.SECONDS));
    isSilent = true;
    ask();
    steps(6, ProcessWatch.PERIOD_MS);
    assertEquals(FakeProxyProcess.KILLED, process.awaitExit(), "it has the limit of others again");
  }

  @Test
  void shouldTellTheProcessWhetherEventsAreHeard() throws Exception {
    proxies.hearingChanged();
    isHeard.set(true);
    proxies.start(RedirectKind.DNS);
    assertEquals("hear true", frame());
    assertEquals("open DNS 30000 5353", frame());
    isHeard.set(false);
    proxies.hearingChanged();
    assertEquals("hear false", frame());
    proxies.reopen();
    assertEquals("hear false", frame(), "the level of the log may have changed");
    proxies.forget(8);
    assertEquals("forget 8", frame());
    proxies.enforce().get(LONGEST_SEC, TimeUnit.SECONDS);
    assertEquals("enforce", frame());
  }

  private void request(String path) {
    process.send(
        FrameType.REQUEST,
        out ->
            EventCodec.write(
                out,
                new RequestRecord(
                    Instant.EPOCH,
                    Verdict.FORWARDED,
                    FakeAgentParts.FLOW,
                    "HTTP/1.1",
                    "GET",
                    path,
                    "a.test",
                    200,
                    1,
                    List.of())));
  }

  /** The log is written here, and opened again by its name. */
  @Test
  void shouldWriteTheAccessLogOfTheProcess() throws Exception {
    accessLog = folder.resolve("access.log");
    proxies.start(RedirectKind.HTTP);
    assertEquals("hear true", frame(), "the log hears");
    request("/first");
    await(() -> Files.readString(accessLog).contains("/first"));
    final String line = Files.readString(accessLog);
    assertTrue(line.contains("any:number=1001") && line.contains("any:number=1002"), line);
    assertEquals(1, agent.requests.size());
    Files.move(accessLog, folder.resolve("rotated"));
    proxies.reopen();
    request("/second");
    await(() -> Files.exists(accessLog) && Files.readString(accessLog).contains("/second"));
    assertEquals(40, proxies.report(0).http().unloggedRequests(), "those dropped on the way");
    proxies.start(RedirectKind.HTTP);
    request("/third");
    await(() -> Files.readString(accessLog).lines().count() == 2);
    assertEquals(1, opened(accessLog), "the log of both starts");
    proxies.close();
    assertEquals(0, opened(accessLog));
    assertEquals(3, agent.requests.size());
  }

  private static int opened(Path file) throws IOException {
    int count = 0;
    try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (final Path descriptor : all) {
        try {
          count += Files.readSymbolicLink(descriptor).equals(file.toRealPath()) ? 1 : 0;
        } catch (NoSuchFileException closed) {
          continue; // by another thread
        }
      }
    }
    return count;
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    while (!condition.call()) {
      assertTrue(System.nanoTime() < deadline, "in time");
      Thread.sleep(2);
    }
  }

  @Test
  void shouldObeyAtOnceWhereThereIsNoProcess() throws Exception {
    proxies.whenLost(lost::add);
    assertTrue(proxies.enforce().isDone());
    proxies.forget(1);
    proxies.reopen();
    proxies.start(RedirectKind.HTTP);
    isSilent = true;
    proxies.enforce().get(LONGEST_SEC, TimeUnit.SECONDS); // it ends with all that was open
    assertTrue(proxies.enforce().isDone());
    proxies.hearingChanged();
  }
}
