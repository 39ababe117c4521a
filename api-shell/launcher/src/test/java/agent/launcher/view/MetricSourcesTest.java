package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup;
import agent.dns.NameStore;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.domain.EndpointList;
import agent.endpoint.PolicyService;
import agent.endpoint.state.EndpointState;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.AddressFamily;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.policy.PolicyChange;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricText;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Names, units and values of the metrics of the domain and of the process. */
class MetricSourcesTest {
  @Test
  void shouldShowTheDomain() {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    for (final String label : List.of("app=a", "app=b", "app=c")) {
      identities.acquire(LabelSet.parse("labels", List.of(label))).join();
    }
    final Ipam ipam =
        Ipam.open(
            new IpamContext()
                .pool(new AddressPool(AddressPool.DEFAULT, List.of(Prefix.parse("10.1.0.0/24"))))
                .conclude());
    for (int i = 0; i < 4; i++) {
      ipam.allocate(AddressFamily.IPV4, "x", null, false);
    }
    final EndpointList endpoints =
        new EndpointList()
            .with(1, EndpointState.NOT_READY)
            .with(2, EndpointState.READY)
            .with(3, EndpointState.READY);
    assertEquals(
        """
        # HELP agent_endpoints Endpoints, by state
        # TYPE agent_endpoints gauge
        agent_endpoints{state="ready"} 2
        agent_endpoints{state="not-ready"} 1
        # HELP agent_identities_in_use Identities in use by endpoints
        # TYPE agent_identities_in_use gauge
        agent_identities_in_use 3
        # HELP agent_ipam_leases Allocated addresses
        # TYPE agent_ipam_leases gauge
        agent_ipam_leases 4
        # HELP agent_policy_revision Revision of the policy
        # TYPE agent_policy_revision gauge
        agent_policy_revision 77
        # HELP agent_held_addresses Expired addresses of names that connections may still use
        # TYPE agent_held_addresses gauge
        agent_held_addresses 6000
        # HELP agent_held_addresses_given_up_total Expired addresses dropped because an endpoint exceeded its share
        # TYPE agent_held_addresses_given_up_total counter
        agent_held_addresses_given_up_total 9
        """,
        MetricText.PROMETHEUS.write(
            new DomainMetricSource(parts(ipam, endpoints, heldNames(6_009)), identities)
                .collect()));
  }

  private static StartedParts parts(Ipam ipam, EndpointList endpoints, Names names) {
    return new StartedParts(
        null,
        null,
        null,
        null,
        null,
        ipam,
        null,
        null,
        endpoints,
        new Revision(77),
        null,
        names,
        null,
        null,
        List.of());
  }

  /** Names of one endpoint that a previous run held, more than can wait for a search. */
  private static Names heldNames(int count) {
    final NameStore store = NameStore.inMemory();
    store.save(
        IntStream.range(0, count)
            .mapToObj(
                i ->
                    new NameLookup(
                        "www.example.com.",
                        List.of(IpAddress.ofIpv4(i)),
                        5,
                        Instant.EPOCH,
                        Instant.EPOCH,
                        NameLookup.Source.CONNECTION,
                        7))
            .toList());
    return Names.open(new NamesContext().store(store).mostHeld(10).conclude());
  }

  @Test
  void shouldShowTheMemoryInBytesAndTheThreadsOfTheProcess() throws Exception {
    final ProcessMetricSource source = new ProcessMetricSource();
    final List<MetricFamily> families = source.collect();
    assertEquals(
        List.of("agent_uptime_seconds", "agent_process_resident_bytes", "agent_process_threads"),
        families.stream().map(MetricFamily::name).toList());
    final double bytes = value(families, "agent_process_resident_bytes");
    assertTrue(bytes > 20e6 && bytes < 20e9, "resident: " + bytes);
    assertEquals(0, bytes % 1024);
    final double threads = value(families, "agent_process_threads");
    assertTrue(threads >= 5 && threads < 5000, "threads: " + threads);
    final double seconds = value(families, "agent_uptime_seconds");
    assertTrue(seconds >= 0 && seconds < 600, "seconds: " + seconds);
  }

  private static double value(List<MetricFamily> families, String name) {
    return families.stream()
        .filter(family -> family.name().equals(name))
        .map(family -> family.samples().getFirst().value())
        .findFirst()
        .orElseThrow();
  }

  /** No rules, at a revision. */
  private record Revision(long revision) implements PolicyService {
    @Override
    public PolicySnapshot get(List<String> labels) {
      return new PolicySnapshot(revision, List.of(), 0);
    }

    @Override
    public CompletableFuture<PolicySnapshot> change(PolicyChange change) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PolicyTrace trace(PolicyQuery query) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<SelectorListing> selectors() {
      return List.of();
    }

    @Override
    public CompletableFuture<Void> names(Map<String, ? extends Collection<IpAddress>> changed) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> services(
        Map<ServiceName, ? extends Collection<IpAddress>> changed) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Set<String> wantedNames() {
      throw new UnsupportedOperationException();
    }

    @Override
    public EnforcementMode mode() {
      return EnforcementMode.DEFAULT;
    }
  }
}
