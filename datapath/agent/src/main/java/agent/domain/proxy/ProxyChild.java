package agent.domain.proxy;

import agent.bindings.process.PipeWriter;
import agent.conductor.ThreadPriority;
import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.dns.NameResolver.Resolved;
import agent.dns.proxy.DeniedNameException;
import agent.dns.proxy.DnsObserver;
import agent.dns.proxy.NameGate;
import agent.l7proxy.RequestListener;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyFeed;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.resolve.ResolvedPolicyCodec;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * One run of the proxy process as the agent sees it. What comes from it is of a less trusted party:
 * it is bounded and checked, and a process that sends what is not valid is ended.
 */
public final class ProxyChild implements PolicyFeed.Follower, AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(ProxyChild.class);
  private static final int LONGEST_FRAME = 1 << 20;
  private static final int MOST_QUESTIONS = 16_384;
  private static final int LONGEST_NAME = 256;

  private static final long END_MS = 2_000;

  /** How long it may take to end by itself: in a training run it writes down what it has loaded. */
  private static final long LAST_WORK_MS = Long.getLong("agent.proxies.lastWorkMs", 0);

  /** Its pipe ends shortly before it does. */
  private static final long EXIT_MS = 200;

  private final Parts parts;
  private final Process process;
  private final FrameWriter frames;
  private final JoinedSockets sockets;
  private final ForwardedLog log = new ForwardedLog();
  private final Consumer<ProxyChild> ended;
  private final CompletableFuture<Void> ready = new CompletableFuture<>();
  private final Pending<Integer> opens = new Pending<>();
  private final Pending<Void> passes = new Pending<>();
  private final Pending<ProxyCounts> reports = new Pending<>();
  private final AtomicInteger questions = new AtomicInteger();
  private final AtomicBoolean isOver = new AtomicBoolean();
  private final CountDownLatch over = new CountDownLatch(1);
  private volatile String reason = "it has ended";
  private volatile boolean isAtWork;

  /**
   * What the process needs of the agent.
   *
   * @param redirect the flows
   * @param policies the rules
   * @param gate what answers with addresses wait for
   * @param requests hears of requests
   * @param questions hears of questions
   */
  public record Parts(
      NodeRedirects redirect,
      PolicyFeed policies,
      NameGate gate,
      RequestListener requests,
      DnsObserver questions) {}

  /**
   * A process that was started.
   *
   * @param input its standard input; null: only as the process has it
   */
  record Started(Process process, PipeWriter input) {}

  /** Starts a process. */
  @FunctionalInterface
  interface Launch {
    /**
     * Starts it.
     *
     * @throws IOException where that is not possible
     */
    Started start() throws IOException;
  }

  /** Wraps a process whose frames are not read yet. */
  ProxyChild(Parts parts, Started started, Consumer<ProxyChild> ended) {
    this.parts = parts;
    this.ended = ended;
    process = started.process();
    sockets = new JoinedSockets(parts.redirect());
    frames =
        new FrameWriter(process.getOutputStream(), started.input(), () -> end("it does not read"));
  }

  /**
   * Starts a process; it is ready when {@link #ready} is.
   *
   * @param ended called once, when it has ended
   * @throws IOException where it cannot be started
   */
  static ProxyChild start(Launch launch, Parts parts, Consumer<ProxyChild> ended)
      throws IOException {
    final ProxyChild child = new ProxyChild(parts, launch.start(), ended);
    child.begin();
    return child;
  }

  private void begin() {
    final NodeRedirects.Source source = parts.redirect().source();
    final Optional<IpAddress> address4 = parts.redirect().address(false);
    final Optional<IpAddress> address6 = parts.redirect().address(true);
    frames.send(
        FrameType.START,
        out -> {
          Wire.writeAll(
              out,
              source.pins().entrySet(),
              (to, pin) -> {
                Wire.writeText(to, pin.getKey());
                Wire.writeText(to, pin.getValue().toString());
              });
          Wire.writeText(out, source.filters().tcp().toString());
          Wire.writeText(out, source.filters().udp().toString());
          out.writeInt(source.worldIdentity4());
          out.writeInt(source.worldIdentity6());
          for (final Optional<IpAddress> address : List.of(address4, address6)) {
            out.writeBoolean(address.isPresent());
            if (address.isPresent()) {
              Wire.writeAddress(out, address.get());
            }
          }
        });
    parts.policies().follow(this); // before the end of the process can end that
    Thread.ofPlatform().daemon().name("proxy-frames-in").start(ThreadPriority.raising(this::read));
    Thread.ofPlatform().daemon().name("proxy-errors").start(this::readErrors);
  }

  /** Reads what the process sends until it ends. */
  void read() {
    try {
      new FrameReader(process.getInputStream(), LONGEST_FRAME).run(this::take);
    } catch (IOException e) {
      end(IoFailure.reason(e));
    }
    over();
  }

  /** A JVM that ends says why there. */
  private void readErrors() {
    try {
      ForwardedLog.errors(process.getErrorStream());
    } catch (IOException e) {
      LOGGER.debug("the errors of the proxy process: {}", IoFailure.reason(e));
    }
  }

  private void take(FrameType type, DataInputStream in) throws IOException {
    isAtWork = true;
    try {
      onFrame(type, in);
    } finally {
      isAtWork = false;
    }
  }

  private void onFrame(FrameType type, DataInputStream in) throws IOException {
    switch (type) {
      case READY -> {
        final String failure = Wire.readText(in);
        if (failure.isEmpty()) {
          ready.complete(null);
        } else {
          ready.completeExceptionally(new ProxyProcessException(failure));
        }
      }
      case OPENED -> opened(in);
      case ENFORCED -> passes.complete(in.readLong(), null);
      case REPORTED -> reports.complete(in.readLong(), CountsCodec.read(in));
      case JOIN -> join(in.readLong(), Wire.readFlow(in), in.readUnsignedShort());
      case LEAVE -> sockets.leave(Wire.readFlow(in), in.readUnsignedShort());
      case FOUND -> found(in);
      case REQUEST -> parts.requests().onRequest(EventCodec.readRequest(in));
      case QUESTION -> parts.questions().onQuestion(EventCodec.readQuestion(in));
      case MESSAGE -> log.message(in);
      default -> throw new IOException("a frame of type " + type);
    }
  }

  private void opened(DataInputStream in) throws IOException {
    final long call = in.readLong();
    final int port = in.readUnsignedShort();
    final String failure = Wire.readText(in);
    if (!failure.isEmpty()) {
      opens.fail(call, new OperationException(failure));
    } else if (port == 0 || port + RedirectProxy.PORTS > 1 << Short.SIZE) {
      throw new IOException("ports from " + port + " on");
    } else if (opens.has(call)) {
      sockets.serve(port);
      opens.complete(call, port);
    }
  }

  private void join(long call, RedirectedFlow flow, int port) {
    sockets
        .join(flow, port)
        .whenComplete(
            (done, failure) ->
                frames.send(
                    FrameType.JOINED,
                    out -> {
                      out.writeLong(call);
                      Wire.writeText(out, failure == null ? "" : sentence(failure));
                    }));
  }

  private void found(DataInputStream in) throws IOException {
    final long call = in.readLong();
    final int endpointId = in.readInt();
    final String name = Wire.readText(in);
    final Resolved answer =
        new Resolved(
            List.copyOf(Wire.readAll(in, Wire::readAddress)),
            Math.max(0, in.readLong()),
            List.copyOf(Wire.readAll(in, Wire::readText)));
    final boolean isName =
        name.endsWith(".")
            && name.length() <= LONGEST_NAME
            && answer.aliases().stream().allMatch(alias -> alias.length() <= LONGEST_NAME);
    if (!isName
        || answer.addresses().isEmpty()
        || !parts.policies().mayAsk(endpointId, name.substring(0, name.length() - 1))) {
      released(call, Set.of(), new DeniedNameException());
    } else if (questions.incrementAndGet() > MOST_QUESTIONS) {
      questions.decrementAndGet();
      released(call, Set.of(), new OperationException("too many answers wait"));
    } else {
      parts
          .gate()
          .found(endpointId, name, answer)
          .whenComplete(
              (addresses, failure) -> {
                questions.decrementAndGet();
                released(call, addresses, failure);
              });
    }
  }

  private void released(long call, Set<IpAddress> addresses, Throwable failure) {
    frames.send(
        FrameType.RELEASED,
        out -> {
          out.writeLong(call);
          out.writeBoolean(failure instanceof DeniedNameException);
          Wire.writeText(out, failure == null ? "" : sentence(failure));
          Wire.writeAll(out, failure == null ? addresses : Set.of(), Wire::writeAddress);
        });
  }

  private static String sentence(Throwable failure) {
    final Throwable cause = failure.getCause() == null ? failure : failure.getCause();
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }

  /** A policy is sent once for all endpoints that have it. */
  @Override
  public void onPublished(long revision, Map<Integer, ResolvedPolicy> changed) {
    final Map<ResolvedPolicy, List<Integer>> endpoints = new IdentityHashMap<>();
    changed.forEach(
        (endpoint, policy) ->
            endpoints.computeIfAbsent(policy, first -> new ArrayList<>()).add(endpoint));
    endpoints.forEach(
        (policy, ids) ->
            frames.send(
                FrameType.POLICY,
                out -> {
                  Wire.writeAll(out, ids, (to, id) -> to.writeInt(id));
                  ResolvedPolicyCodec.write(out, policy);
                }));
    frames.send(FrameType.COMMIT, out -> out.writeLong(revision));
  }

  @Override
  public void onRemoved(int endpointId) {
    frames.send(FrameType.REMOVE, out -> out.writeInt(endpointId));
  }

  /** Completes when the process has given up its rights. */
  CompletableFuture<Void> ready() {
    return ready;
  }

  /**
   * Opens a proxy.
   *
   * @param previousPort the first port that it had before; 0: none
   * @param context writes its configuration
   * @return its first port
   */
  CompletableFuture<Integer> open(RedirectKind kind, int previousPort, FrameWriter.Body context) {
    final CompletableFuture<Integer> port = new CompletableFuture<>();
    final long call = opens.begin(port);
    frames.send(
        FrameType.OPEN,
        out -> {
          out.writeLong(call);
          Wire.writeEnum(out, kind);
          out.writeShort(previousPort);
          context.write(out);
        });
    return port;
  }

  CompletableFuture<Void> enforce() {
    final CompletableFuture<Void> done = new CompletableFuture<>();
    final long call = passes.begin(done);
    frames.send(FrameType.ENFORCE, out -> out.writeLong(call));
    return done;
  }

  CompletableFuture<ProxyCounts> report(int endpointId) {
    final CompletableFuture<ProxyCounts> report = new CompletableFuture<>();
    final long call = reports.begin(report);
    frames.send(
        FrameType.REPORT,
        out -> {
          out.writeLong(call);
          out.writeInt(endpointId);
        });
    return report;
  }

  void forget(int endpointId) {
    frames.send(FrameType.FORGET, out -> out.writeInt(endpointId));
  }

  /** Says whether requests and questions are heard, and from which level on messages are. */
  void hear(boolean isHeard) {
    frames.send(
        FrameType.HEAR,
        out -> {
          out.writeBoolean(isHeard);
          Wire.writeText(out, ForwardedLog.level().name());
        });
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return !isOver.get();
  }

  /** Returns whether the agent works on a frame, as on a slow disk: the next ones wait for it. */
  boolean isAtWork() {
    return isAtWork;
  }

  /** Returns why it has ended. */
  String reason() {
    return reason;
  }

  /** Ends the process, which may not have the right to stay. */
  void end(String why) {
    if (!isOver.get()) {
      reason = why;
    }
    process.destroyForcibly();
  }

  /** Ends the process and waits until that is reported, so that another one can be started. */
  void endAndWait(String why) {
    end(why);
    try {
      if (!over.await(END_MS, TimeUnit.MILLISECONDS)) {
        LOGGER.warn("the proxy process with pid {} does not end", pid());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void over() {
    if (!isOver.compareAndSet(false, true)) {
      return;
    }
    parts.policies().unfollow(this);
    try {
      if (process.waitFor(EXIT_MS, TimeUnit.MILLISECONDS)) {
        reason += " (exit status " + process.exitValue() + ")";
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    final ProxyProcessException failure =
        new ProxyProcessException("the proxy process has ended: " + reason);
    ready.completeExceptionally(failure);
    opens.failAll(failure);
    passes.failAll(failure);
    reports.failAll(failure);
    sockets.leaveAll();
    frames.close();
    ended.accept(this);
    over.countDown();
  }

  /**
   * Closes its standard input, which ends it; it is killed before its threads have come to rest,
   * for which a JVM waits, and is gone after this, so that its ports are free.
   */
  @Override
  public void close() {
    reason = "stopped by the agent";
    frames.close();
    try {
      if (!process.waitFor(LAST_WORK_MS, TimeUnit.MILLISECONDS)) {
        process.destroyForcibly().waitFor(END_MS, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
