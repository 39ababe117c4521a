package agent.launcher;

import agent.datapath.spec.MountPoint;
import agent.datapath.spec.PrefilterStore;
import agent.domain.node.NodeContexts;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.LeaseStore;
import agent.launcher.options.OptionException;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.server.metrics.MetricsServer;
import agent.server.monitor.AgentEvents;
import agent.types.Refusal;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Checks every option as a whole before anything on the node is changed: what only a part of the
 * agent refuses would otherwise end the start after the parts before it have changed the node.
 */
final class OptionsCheck {
  private OptionsCheck() {}

  /**
   * Checks all options; reads what the node has, and changes nothing.
   *
   * @throws OptionException naming the first option whose value is not valid on this machine
   */
  static void check(Settings settings) {
    try {
      checkParts(settings);
    } catch (Refusal refusal) {
      if (refusal.kind() == Refusal.Kind.INVALID) {
        throw new OptionException("--" + refusal.getMessage());
      }
      throw refusal;
    }
  }

  private static void checkParts(Settings settings) {
    settings.shown();
    settings.log();
    settings.api(new AgentEvents());
    checkMetricsAddress(settings);
    settings.agentLabels();
    settings.mtu();
    settings.hostRouting();
    settings.labelFilter();
    settings.runtimeOptions();
    settings.names().preCache().ifPresent(NameFileReader::read);
    settings.proxies().dns();
    final NodeAddressing addressing = Node.check(settings.node(), settings.namedDevices());
    final NodeContexts node = new NodeContexts(addressing, Map.of(), Map.of());
    node.ipam(LeaseStore.inMemory(), CompletableFuture::runAsync);
    settings.policy().identities(new LocalIdentityAllocator(settings.fixedIdentities())).conclude();
    settings.masquerade().rules(addressing);
    settings.datapath(node, true, PrefilterStore.inMemory());
    MountPoint.BPF.check("bpf-root", settings.bpfRoot());
    if (settings.cgroupRoot() != null) {
      MountPoint.CGROUP.check("cgroup-root", settings.cgroupRoot());
    }
    settings.proxies().checkLogs();
  }

  /** An address that this node has not, or that is taken, would end the start half way. */
  private static void checkMetricsAddress(Settings settings) {
    final Optional<InetSocketAddress> address = settings.metricsAddress();
    OptionException.naming(
        "prometheus-serve-addr",
        () -> {
          address.ifPresent(MetricsServer::check);
          return address;
        });
  }
}
