package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.identity.LocalIdentityAllocator;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.PolicyState;
import agent.policy.PolicyStore;
import agent.policy.spec.LabelSpec;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PortRuleSpec;
import agent.policy.spec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * An agent without doors and without a kernel: real identities, addresses and policy, a fake
 * datapath and node, and stores that outlive {@link #restart}.
 */
final class EndpointFixture {
  static final Prefix RANGE4 = Prefix.parse("10.5.0.0/24");
  static final Prefix RANGE6 = Prefix.parse("f00d::5:0:0/96");

  final FakeDatapath datapath = new FakeDatapath();
  final FakeNode node = new FakeNode();
  final RecordingStore store = new RecordingStore();
  ManualThread thread;
  LocalIdentityAllocator identities;
  Ipam ipam;
  PolicyEngine policy;
  EndpointConductor conductor;
  RestoreReport report;
  private List<Lease> leases = List.of();
  private Optional<PolicyState> rules = Optional.empty();

  /** An endpoint store that can be made to fail. */
  static final class RecordingStore implements EndpointStore {
    private final EndpointStore kept = EndpointStore.inMemory();
    boolean fails;

    @Override
    public List<EndpointRecord> load() {
      return kept.load();
    }

    @Override
    public void save(EndpointRecord endpoint) {
      check();
      kept.save(endpoint);
    }

    @Override
    public void remove(int id) {
      check();
      kept.remove(id);
    }

    private void check() {
      if (fails) {
        throw Refusal.failed("", "no space left on device");
      }
    }
  }

  EndpointFixture() {
    node.hasAddress("192.0.2.1");
    node.hasAddress("10.5.0.1");
    for (int i = 1; i < 10; i++) {
      node.hasDevice("lxc" + i, 100 + i);
    }
    restart();
  }

  /** Another life of the agent, on what the stores and the datapath kept. */
  void restart() {
    thread = new ManualThread();
    identities = new LocalIdentityAllocator();
    ipam = Ipam.open(ipamContext());
    policy =
        PolicyEngine.open(
            new PolicyContext().identities(identities).store(new KeptRules()).conclude());
    conductor =
        EndpointConductor.launch(
            new EndpointContext()
                .datapath(datapath)
                .policy(policy)
                .identities(identities)
                .ipam(ipam)
                .addressing(
                    new NodeAddressing(
                        FamilyAddressing.of(IpAddress.parse("192.0.2.1"), RANGE4),
                        FamilyAddressing.of(null, RANGE6)))
                .devices(node.devices)
                .nodeDevices(Set.of("ext0"))
                .localAddresses(node.localAddresses)
                .routes(node.routes)
                .store(store)
                .thread(thread)
                .clock(thread)
                .clusterName("c1")
                .nodeName("n1")
                .datapathTimeout(Duration.ofSeconds(1))
                .retry(Duration.ofSeconds(1), Duration.ofSeconds(8))
                .conclude());
    report = now(conductor.restore());
  }

  private IpamContext ipamContext() {
    return new IpamContext()
        .pool(new AddressPool(AddressPool.DEFAULT, List.of(RANGE4, RANGE6)))
        .gateways(RANGE4.address().plus(1), RANGE6.address().plus(1))
        .clock(thread)
        .store(
            new LeaseStore() {
              @Override
              public List<Lease> load() {
                return leases;
              }

              @Override
              public void save(List<Lease> now) {
                leases = List.copyOf(now);
              }
            })
        .conclude();
  }

  private final class KeptRules implements PolicyStore {
    @Override
    public Optional<PolicyState> load() {
      return rules;
    }

    @Override
    public void save(PolicyState state) {
      rules = Optional.of(state);
    }
  }

  /** The answer after all that is queued was done. */
  <T> T now(CompletableFuture<T> answer) {
    thread.run();
    try {
      return answer.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw failure;
    }
  }

  EndpointSnapshot create(String id, Requests request) {
    return now(conductor.endpoints().create(EndpointIdentifier.parse(id), request.build()));
  }

  EndpointSnapshot modify(String id, Requests request) {
    return now(conductor.endpoints().modify(EndpointIdentifier.parse(id), request.build()));
  }

  EndpointSnapshot relabel(String id, String... labels) {
    return now(conductor.endpoints().setUserLabels(EndpointIdentifier.parse(id), List.of(labels)));
  }

  EndpointSnapshot configure(String id, Map<String, String> options) {
    return now(conductor.endpoints().configure(EndpointIdentifier.parse(id), options, null));
  }

  List<String> delete(String id) {
    return now(conductor.endpoints().delete(EndpointIdentifier.parse(id)));
  }

  EndpointSnapshot get(String id) {
    return conductor.endpoints().get(EndpointIdentifier.parse(id));
  }

  void importRules(RuleSpec... specs) {
    now(conductor.policy().importRules(List.of(specs)));
  }

  static void assertRefused(Refusal.Kind kind, String field, Runnable call) {
    final Refusal refusal = assertThrows(Refusal.class, call::run);
    assertEquals(kind, refusal.kind(), refusal.getMessage());
    assertEquals(field, refusal.field(), refusal.getMessage());
  }

  /** Endpoints with the label may be reached by those with the other one, on one TCP port. */
  static RuleSpec allowIngress(String to, String from, int port) {
    return rule(to, List.of(peer(List.of(selector(from)), null, port)), null, null);
  }

  static RuleSpec allowIngressFromCidr(String to, String cidr, int port) {
    return rule(to, List.of(peer(null, List.of(cidr), port)), null, null);
  }

  static RuleSpec denyIngress(String to, String from, int port) {
    return rule(to, null, List.of(peer(List.of(selector(from)), null, port)), null);
  }

  private static PeerRuleSpec peer(List<SelectorSpec> endpoints, List<String> cidrs, int port) {
    return new PeerRuleSpec(
        endpoints,
        null,
        cidrs,
        null,
        null,
        List.of(new PortRuleSpec(List.of(new PortSpec(Integer.toString(port), null, "TCP")), null)),
        null,
        null);
  }

  private static RuleSpec rule(
      String to, List<PeerRuleSpec> ingress, List<PeerRuleSpec> ingressDeny, String name) {
    return new RuleSpec(
        selector(to),
        ingress,
        null,
        ingressDeny,
        null,
        name == null ? null : List.of(new LabelSpec("name", name, null)),
        null);
  }

  /** The same rule with a label {@code name}. */
  static RuleSpec named(String name, RuleSpec rule) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        List.of(new LabelSpec("name", name, null)),
        null);
  }

  static SelectorSpec selector(String label) {
    final int equals = label.indexOf('=');
    return new SelectorSpec(Map.of(label.substring(0, equals), label.substring(equals + 1)), null);
  }
}
