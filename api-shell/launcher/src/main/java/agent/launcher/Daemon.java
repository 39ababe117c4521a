package agent.launcher;

import agent.bindings.BindingsException;
import agent.bindings.LibBpf;
import agent.datapath.manager.DatapathManager;
import agent.endpoint.ConductorThread;
import agent.endpoint.EndpointConductor;
import agent.endpoint.EndpointContext;
import agent.endpoint.RestoreReport;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.Ipam;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.launcher.state.EndpointFiles;
import agent.launcher.state.LeaseFile;
import agent.launcher.state.NodeFile;
import agent.launcher.state.PolicyFile;
import agent.launcher.state.PrefilterFile;
import agent.launcher.state.StateLock;
import agent.launcher.view.DaemonStatus;
import agent.launcher.view.StartedParts;
import agent.node.Node;
import agent.policy.PolicyEngine;
import agent.server.ApiServer;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The agent, wired by hand: the lock, the socket (which answers 503 until the end), the node, the
 * domain, the datapath, what an earlier life left, and then every route.
 */
final class Daemon implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Daemon.class);
  private static final long LONGEST_RESTORE_SEC = 120;

  private final Settings settings;
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  Daemon(OptionValues options) {
    settings = new Settings(options);
  }

  /**
   * Starts everything; returns when the datapath enforces and the API answers. libbpf is the first,
   * since ip, which the node asks, is linked with it, too, and would not say what to do.
   *
   * @throws BindingsException where libbpf is missing or too old
   * @throws OptionException naming an option whose value does not fit this machine
   * @throws Refusal where the kernel or the node is not fit
   * @throws IOException where the socket cannot be bound
   */
  void start() throws IOException, InterruptedException {
    LibBpf.ensureLoaded();
    final Path state = settings.stateDirectory();
    keep(StateLock.take(state));
    final Doors doors = new Doors(new DaemonStatus(settings.shown()));
    final ApiServer server = keep(ApiServer.start(settings.api(), doors.whileStarting()));
    letTheGroupPass(state);
    if (!settings.restores()) {
      PreviousState.discard(state);
    }

    final Node node = refusalNamesOption(() -> Node.open(settings.node(), NodeFile.open(state)));
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    final Ipam ipam = Ipam.open(settings.ipam(node.addressing(), LeaseFile.open(state)));
    final PolicyEngine policy =
        PolicyEngine.open(settings.policy(identities, PolicyFile.open(state)));
    final DatapathManager datapath =
        keep(
            refusalNamesOption(
                () ->
                    DatapathManager.launch(
                        settings.datapath(node.addressing(), PrefilterFile.open(state)))));
    final EndpointConductor conductor =
        keep(
            EndpointConductor.launch(
                new EndpointContext()
                    .node(node)
                    .nodeDevices(settings.nodeDevices())
                    .identities(identities)
                    .ipam(ipam)
                    .policy(policy)
                    .datapath(datapath.proxy())
                    .store(EndpointFiles.open(state))
                    .thread(ConductorThread.start(Daemon::thread))
                    .labelFilter(settings.labelFilter())
                    .defaultOptions(settings.endpointOptions())
                    .clusterName(settings.clusterName())
                    .nodeName(settings.nodeName())
                    .conclude()));
    report(restore(conductor));
    server.serve(
        doors.open(
            new StartedParts(
                node.addressing(),
                ipam,
                datapath,
                conductor.endpoints(),
                conductor.policy(),
                InstantSource.system()),
            identities));
  }

  /** Stops the parts in the opposite order. What the kernel enforces stays. */
  @Override
  public void close() {
    synchronized (parts) {
      while (!parts.isEmpty()) {
        final AutoCloseable part = parts.pop();
        try {
          part.close();
        } catch (Exception e) {
          LOGGER.error("stopping {}: {}", part.getClass().getSimpleName(), e.toString(), e);
        }
      }
    }
  }

  private <T extends AutoCloseable> T keep(T part) {
    synchronized (parts) {
      parts.push(part);
    }
    return part;
  }

  /** The socket is in the state directory by default, and has a group of its own. */
  private void letTheGroupPass(Path state) throws IOException {
    if (state.equals(settings.socketPath().getParent())) {
      Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
  }

  private static RestoreReport restore(EndpointConductor conductor) throws InterruptedException {
    try {
      return conductor.restore().get(LONGEST_RESTORE_SEC, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw Refusal.of(
          Refusal.Kind.FAILED, "restore", String.valueOf(e.getCause().getMessage()), e.getCause());
    } catch (TimeoutException e) {
      throw Refusal.of(
          Refusal.Kind.FAILED, "restore", "no end after " + LONGEST_RESTORE_SEC + " s", e);
    }
  }

  /** Which endpoints; the errors are told where they are met. */
  private static void report(RestoreReport report) {
    if (!report.restored().isEmpty()) {
      LOGGER.info("restored endpoints {}", report.restored());
    }
    if (!report.removed().isEmpty()) {
      LOGGER.warn("removed endpoints {}: their interfaces are gone", report.removed());
    }
    if (!report.failed().isEmpty()) {
      LOGGER.warn("endpoints {} run on what they had, and are tried again", report.failed());
    }
  }

  /** What is refused as invalid here came in by an option of that name. */
  private static <T> T refusalNamesOption(Supplier<T> part) {
    try {
      return part.get();
    } catch (Refusal e) {
      if (e.kind() == Refusal.Kind.INVALID) {
        throw new OptionException("--" + e.getMessage());
      }
      throw e;
    }
  }

  private static Thread thread(Runnable work) {
    final Thread thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }
}
