package agent.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.FlowRing;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.domain.node.MasqueradeOptions;
import agent.domain.proxy.ProxyHost;
import agent.endpoint.EndpointContext;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointSnapshot;
import agent.identity.FixedIdentities;
import agent.node.HostRouting;
import agent.node.NodeOptions;
import agent.policy.PolicyContext;
import agent.policy.repository.CommittedRules;
import agent.policy.resolve.EnforcementMode;
import agent.service.Services;
import agent.state.AgentState;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a domain cannot do without, and that nothing changes once it is checked. */
class DomainContextTest {
  private static final ProxyHost.Factory NO_PROXIES =
      (redirect, policies, gate, identities) -> {
        throw new UnsupportedOperationException();
      };

  @TempDir private Path directory;
  private AgentState state;

  @BeforeEach
  void open() {
    state = AgentState.open(directory.resolve("state"));
  }

  @AfterEach
  void close() {
    state.close();
  }

  private static String missing(DomainContext context) {
    return assertThrows(NullPointerException.class, context::conclude).getMessage();
  }

  @Test
  void shouldNameWhatIsMissing() {
    final DomainContext context = new DomainContext();
    assertEquals("state", missing(context));
    assertEquals("datapath", missing(context.state(state)));
    assertEquals("proxies", missing(context.datapath(new DatapathContext())));
    assertSame(context, context.proxies(NO_PROXIES).conclude());
  }

  @Test
  void shouldHaveDefaultsThatChangeNothingOnTheNode() {
    final DomainContext context = new DomainContext();
    assertEquals(NodeOptions.DEFAULTS, context.node());
    assertEquals(0, context.mtu());
    assertEquals(MasqueradeOptions.OFF, context.masquerade());
    assertEquals(List.of(), context.periodic());
  }

  /** No value of a type is that of another setter, or the default. */
  @Test
  void shouldKeepWhatEachSetterIsGiven() {
    final NodeOptions node = new NodeOptions(true, false, "a", "b", "c", "d", "e", "f");
    final MasqueradeOptions masquerade =
        new MasqueradeOptions(true, false, true, "auto", "auto", 40, null);
    final FixedIdentities fixed = FixedIdentities.parse(Map.of("128", "dns"));
    final RuntimeOptions options =
        new RuntimeOptions(EndpointOptions.defaults(), true, EnforcementMode.ALWAYS);
    final DatapathContext datapath = new DatapathContext();
    final FlowRing flows = new FlowRing(16, Set.of(), System::nanoTime);
    final PolicyContext policy = new PolicyContext();
    final NamesContext names = new NamesContext();
    final EndpointContext endpoints = new EndpointContext();
    final Consumer<EndpointSnapshot> endpointObserver = snapshot -> {};
    final Consumer<Supplier<CommittedRules>> policyObserver = rules -> {};
    final Services.Observer serviceObserver = (id, before, after) -> {};
    final Names.Observer lookupObserver = (name, answer) -> {};
    final Runnable task = () -> {};
    final DomainContext context =
        new DomainContext()
            .state(state)
            .node(node, 1400)
            .name("blue", "n7")
            .hostRouting(HostRouting.Choice.LEGACY)
            .masquerade(masquerade)
            .balancer("eth7")
            .fixedIdentities(fixed)
            .runtimeOptions(options)
            .datapath(datapath)
            .flows(flows)
            .policy(policy)
            .names(names, true)
            .mostBackends(7)
            .endpoints(endpoints)
            .proxies(NO_PROXIES)
            .endpointObserver(endpointObserver)
            .policyObserver(policyObserver)
            .serviceObserver(serviceObserver)
            .lookupObserver(lookupObserver)
            .periodic("load", Duration.ofMinutes(1), task)
            .conclude();
    assertSame(state, context.state());
    assertSame(node, context.node());
    assertEquals(1400, context.mtu());
    assertEquals("blue", context.clusterName());
    assertEquals("n7", context.nodeName());
    assertEquals(HostRouting.Choice.LEGACY, context.hostRouting());
    assertSame(masquerade, context.masquerade());
    assertEquals("eth7", context.balancer());
    assertSame(fixed, context.fixedIdentities());
    assertSame(options, context.runtimeOptions());
    assertSame(datapath, context.datapath());
    assertSame(flows, context.flows());
    assertSame(policy, context.policy());
    assertSame(names, context.names());
    assertTrue(context.looksUpNames());
    assertEquals(7, context.mostBackends());
    assertSame(endpoints, context.endpoints());
    assertSame(NO_PROXIES, context.proxies());
    assertSame(endpointObserver, context.endpointObserver());
    assertSame(policyObserver, context.policyObserver());
    assertSame(serviceObserver, context.serviceObserver());
    assertSame(lookupObserver, context.lookupObserver());
    assertEquals(
        List.of(new DomainContext.Periodic("load", Duration.ofMinutes(1), task)),
        context.periodic());
  }

  @Test
  void shouldRefuseEveryChangeOfAConcludedContext() {
    final DomainContext context =
        new DomainContext()
            .state(state)
            .datapath(new DatapathContext())
            .proxies(NO_PROXIES)
            .conclude();
    final List<Consumer<DomainContext>> changes =
        List.of(
            changed -> changed.state(null),
            changed -> changed.node(null, 0),
            changed -> changed.name(null, null),
            changed -> changed.hostRouting(null),
            changed -> changed.masquerade(null),
            changed -> changed.balancer(null),
            changed -> changed.fixedIdentities(null),
            changed -> changed.runtimeOptions(null),
            changed -> changed.datapath(null),
            changed -> changed.flows(null),
            changed -> changed.policy(null),
            changed -> changed.names(null, true),
            changed -> changed.mostBackends(0),
            changed -> changed.endpoints(null),
            changed -> changed.proxies(null),
            changed -> changed.endpointObserver(null),
            changed -> changed.policyObserver(null),
            changed -> changed.serviceObserver(null),
            changed -> changed.lookupObserver(null),
            changed -> changed.periodic("more", Duration.ofSeconds(1), () -> {}));
    changes.forEach(
        change -> assertThrows(IllegalStateException.class, () -> change.accept(context)));
    assertEquals(List.of(), context.periodic());
  }
}
