package agent.domain.proxy;

import agent.bindings.bpf.LibBpf;
import agent.bindings.process.PipeWriter;
import agent.bindings.process.ProcessAttributes;
import agent.conductor.ThreadPriority;
import agent.datapath.manager.redirect.ProxyFilters;
import agent.datapath.manager.redirect.RedirectLookups;
import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectProxy;
import agent.dns.NameResolver.Resolved;
import agent.dns.proxy.DeniedNameException;
import agent.dns.proxy.DnsObserver;
import agent.dns.proxy.DnsProxyContext;
import agent.domain.node.ProcessPrivileges;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.RequestListener;
import agent.l7proxy.RequestRecord;
import agent.maps.layout.RedirectKind;
import agent.policy.PolicyCopy;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The process that reads bytes of workloads. It opens what it needs to look flows up, gives up all
 * rights, and then serves what the agent asks for by frames on standard input, until that ends; the
 * kernel ends it at once with the thread that started it.
 */
public final class ProxyProcess {
  private static final Logger LOGGER = LogManager.getLogger(ProxyProcess.class);

  /** The argument of the agent's program that runs this process. */
  public static final String NAME = "proxy-process";

  /** The most bytes of a frame to this process, which trusts the agent. */
  private static final int LONGEST_FRAME = 1 << 30;

  private static final RedirectKind[] KINDS = RedirectKind.values();

  private final FrameWriter agent;
  private final Consumer<Level> level;
  private final PolicyCopy policies = new PolicyCopy();
  private final Pending<Void> joins = new Pending<>();
  private final Pending<Set<IpAddress>> gates = new Pending<>();
  private final LocalProxies proxies = new LocalProxies(this::httpContext, this::dnsContext);
  private ProxyFlows flows;
  private ProxyFilters filters;
  private HttpProxyContext http;
  private DnsProxyContext dns;
  private volatile boolean isHeard;

  private ProxyProcess(FrameWriter agent, Consumer<Level> level) {
    this.agent = agent;
    this.level = level;
  }

  /**
   * Runs the process until its standard input ends, which the end of the agent does. The caller has
   * it ignore the signals that end an agent: it ends with the agent.
   *
   * @param log makes the log of this process go to a sink, and returns what sets its level
   * @throws IOException where the agent sends what is no frame
   */
  public static void run(Function<MessageSink, Consumer<Level>> log) throws IOException {
    ThreadPriority.raise(); // while it may
    final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    final FrameWriter agent =
        new FrameWriter(out, PipeWriter.open(Path.of("/proc/self/fd/1")), () -> {});
    final Consumer<Level> level =
        log.apply(
            (severity, logger, format, text) ->
                agent.event(
                    FrameType.MESSAGE,
                    frame -> {
                      Wire.writeText(frame, severity.name());
                      Wire.writeText(frame, logger);
                      Wire.writeText(frame, format);
                      Wire.writeText(frame, text);
                    }));
    final ProxyProcess process = new ProxyProcess(agent, level);
    new FrameReader(new FileInputStream(FileDescriptor.in), LONGEST_FRAME).run(process::onFrame);
  }

  private void onFrame(FrameType type, DataInputStream in) throws IOException {
    switch (type) {
      case START -> start(in);
      case OPEN -> open(in);
      case POLICY -> policies.read(Wire.readAll(in, Integer.MAX_VALUE, DataInput::readInt), in);
      case COMMIT -> policies.commit(in.readLong());
      case REMOVE -> policies.remove(in.readInt());
      case ENFORCE -> enforce(in.readLong());
      case REPORT -> report(in.readLong(), in.readInt());
      case FORGET -> proxies.forget(in.readInt());
      case HEAR -> {
        isHeard = in.readBoolean();
        level.accept(Level.getLevel(Wire.readText(in)));
      }
      case JOINED -> {
        final long call = in.readLong();
        final String failure = Wire.readText(in);
        if (failure.isEmpty()) {
          joins.complete(call, null);
        } else {
          joins.fail(call, new OperationException(failure));
        }
      }
      case RELEASED -> {
        final long call = in.readLong();
        final boolean isDenied = in.readBoolean();
        final String failure = Wire.readText(in);
        final Set<IpAddress> released = Set.copyOf(Wire.readAll(in, Wire::readAddress));
        if (isDenied) {
          gates.fail(call, new DeniedNameException());
        } else if (failure.isEmpty()) {
          gates.complete(call, released);
        } else {
          gates.fail(call, new OperationException(failure));
        }
      }
      default -> throw new IOException("a frame of type " + type);
    }
  }

  private void start(DataInputStream in) throws IOException {
    final Map<String, Path> pins = new HashMap<>();
    Wire.readAll(in, from -> pins.put(Wire.readText(from), Path.of(Wire.readText(from))));
    final NodeRedirects.Filters pinned =
        new NodeRedirects.Filters(Path.of(Wire.readText(in)), Path.of(Wire.readText(in)));
    final int world4 = in.readInt();
    final int world6 = in.readInt();
    final IpAddress address4 = in.readBoolean() ? Wire.readAddress(in) : null;
    final IpAddress address6 = in.readBoolean() ? Wire.readAddress(in) : null;
    String failure = "";
    try {
      LibBpf.ensureLoaded();
      final RedirectLookups lookups =
          RedirectLookups.open(new NodeRedirects.Source(pins, pinned, world4, world6));
      filters = ProxyFilters.open(pinned);
      flows = new ProxyFlows(lookups, address4, address6, agent, joins);
      openClassPath();
      ProcessAttributes.becomeUser(RedirectProxy.USER);
      ProcessAttributes.endWithParent();
      ProcessPrivileges.checkNone(RedirectProxy.USER);
    } catch (RuntimeException e) {
      failure = "the proxy process could not drop its rights: " + e.getMessage();
    }
    final String text = failure;
    agent.send(FrameType.READY, out -> Wire.writeText(out, text));
  }

  /**
   * Opens all archives of the class path, and has the JDK look for what serves names: the user of
   * this process may not be able to read the class path.
   */
  private static void openClassPath() {
    if (ClassLoader.getSystemResource("no/such/file") != null) {
      throw new IllegalStateException("the class path has no/such/file");
    }
    try {
      InetAddress.getByName("localhost");
    } catch (UnknownHostException none) {
      LOGGER.debug("this node has no localhost");
    }
  }

  private HttpProxyContext httpContext(RequestListener counter) {
    return http.redirect(flows)
        .policies(policies.policies())
        .listener(
            request -> {
              counter.onRequest(request);
              tell(request);
            });
  }

  private void tell(RequestRecord request) {
    if (isHeard) {
      agent.event(FrameType.REQUEST, out -> EventCodec.write(out, request));
    }
  }

  private DnsProxyContext dnsContext() {
    return dns.redirect(flows).policies(policies.policies()).gate(this::found).observer(this::tell);
  }

  private void tell(DnsObserver.Event question) {
    if (isHeard) {
      agent.event(FrameType.QUESTION, out -> EventCodec.write(out, question));
    }
  }

  private CompletableFuture<Set<IpAddress>> found(int endpointId, String name, Resolved answer) {
    final CompletableFuture<Set<IpAddress>> released = new CompletableFuture<>();
    final long call = gates.begin(released);
    agent.send(
        FrameType.FOUND,
        out -> {
          out.writeLong(call);
          out.writeInt(endpointId);
          Wire.writeText(out, name);
          Wire.writeAll(out, answer.addresses(), Wire::writeAddress);
          out.writeLong(answer.ttlSec());
          Wire.writeAll(out, answer.aliases(), Wire::writeText);
        });
    return released;
  }

  private void open(DataInputStream in) throws IOException {
    final long call = in.readLong();
    final RedirectKind kind = Wire.readEnum(in, KINDS);
    flows.previousPort(in.readUnsignedShort());
    if (kind == RedirectKind.DNS) {
      dns = ContextCodec.readDns(in);
    } else {
      http = ContextCodec.readHttp(in);
    }
    int port = 0;
    String failure = "";
    try {
      port = proxies.start(kind);
      filters.attach(kind, flows.addresses(), port); // before the agent sends anything there
    } catch (IOException e) {
      failure = IoFailure.sentence(e);
    } catch (RuntimeException e) {
      failure = String.valueOf(e.getMessage());
    }
    final int firstPort = port;
    final String text = failure;
    agent.send(
        FrameType.OPENED,
        out -> {
          out.writeLong(call);
          out.writeShort(firstPort);
          Wire.writeText(out, text);
        });
  }

  private void enforce(long call) {
    proxies
        .enforce()
        .whenComplete(
            (done, failure) -> agent.send(FrameType.ENFORCED, out -> out.writeLong(call)));
  }

  private void report(long call, int endpointId) {
    final ProxyCounts report = proxies.report(endpointId);
    final ProxyCounts.Connections http = report.http();
    final ProxyCounts all =
        new ProxyCounts(
            report.requests(),
            new ProxyCounts.Connections(
                http.open(), http.refused(), http.closedIdle(), agent.droppedRequests()),
            report.questions(),
            report.redirects());
    agent.send(
        FrameType.REPORTED,
        out -> {
          out.writeLong(call);
          CountsCodec.write(out, all);
        });
  }
}
