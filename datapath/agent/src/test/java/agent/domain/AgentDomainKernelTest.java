package agent.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.datapath.spec.DatapathContext;
import agent.dns.proxy.DnsProxyContext;
import agent.domain.node.LockedNode;
import agent.domain.proxy.LocalProxies;
import agent.endpoint.request.AddressingRequest;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.l7proxy.HttpProxyContext;
import agent.node.NodeOptions;
import agent.policy.PolicyChange;
import agent.policy.repository.Replacement;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.service.Backend;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.Services;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import agent.types.AlreadyInUseException;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The whole domain without an API: what calls ask for is enforced on packets, and stays. */
@KernelTest
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class AgentDomainKernelTest {
  private static final int SERVER = 11;
  private static final int CLIENT = 12;
  private static final int PORT = 5300;
  private static final String OWN = "10.96.0.1";
  private static final String FOREIGN = "10.96.0.2";
  private static final EntrySource CLUSTER = new EntrySource("cluster");
  private static final int PATIENCE_MS = 400;
  private static final int ANSWERED_MS = 10_000;
  private static final long LONGEST_SEC = 60;

  /** Modules of the domain, beside those of the datapath. */
  private static final Set<String> MODULES =
      Set.of("endpoints", "names", "node", "node-addresses", "proxies", "restore", "state");

  private final NetworkNamespace namespace = NetworkNamespace.create("domain");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final TestControlGroup group = TestControlGroup.create();
  private final List<String> heard = new CopyOnWriteArrayList<>();
  @TempDir private Path directory;
  private LockedNode node;
  private AgentDomain domain;
  private Workload server;
  private Workload client;

  @BeforeEach
  void start() throws Exception {
    namespace.run(
        () -> {
          node = LockedNode.acquire(directory.resolve("state"), bpf.path());
          domain = new AgentDomain(context());
          domain.start();
          return domain;
        });
  }

  private DomainContext context() {
    return new DomainContext()
        .state(node.state())
        .node(
            new NodeOptions(
                true,
                true,
                NodeOptions.AUTO,
                NodeOptions.AUTO,
                "10.211.0.0/24",
                "fd00:211::/96",
                NodeOptions.DEFAULTS.ipv6ClusterAllocCidr(),
                NodeOptions.UNDEFINED),
            0)
        .datapath(
            new DatapathContext()
                .bpfRoot(bpf.path())
                .libDirectory(directory.resolve("lib"))
                .cgroupRoot(group.path())
                .conntrackTcpMax(16_384)
                .conntrackAnyMax(16_384)
                .preallocates(false))
        .proxies(
            (redirect, policies, gate, identities) ->
                new LocalProxies(
                    listener ->
                        new HttpProxyContext()
                            .redirect(redirect)
                            .policies(policies)
                            .listener(listener),
                    () -> new DnsProxyContext().redirect(redirect).policies(policies).gate(gate)))
        .endpointObserver(endpoint -> heard.add(endpoint.id() + " " + endpoint.state()));
  }

  @AfterEach
  void stop() throws Exception {
    end();
    for (final Workload workload : new Workload[] {server, client}) {
      if (workload != null) {
        workload.close();
      }
    }
    namespace.close();
    bpf.close();
    group.close();
  }

  private void end() {
    if (domain != null) {
      domain.close();
    }
    if (node != null) {
      node.close();
    }
  }

  private Workload workload(int id, String label) throws Exception {
    final Workload workload =
        Workload.create(
            namespace,
            "dom" + id,
            "10.211.0." + id,
            domain.addressing().ipv4().gateway().toString(),
            "fd00:211::" + id,
            domain.addressing().ipv6().gateway().toString());
    final EndpointSnapshot created =
        domain
            .endpoints()
            .create(EndpointIdentifier.local(id), request(workload, label))
            .get(LONGEST_SEC, TimeUnit.SECONDS);
    assertEquals(EndpointState.READY, created.state());
    return workload;
  }

  private static EndpointRequest request(Workload workload, String label) {
    return new EndpointRequest(
        "waiting-for-identity",
        new AddressingRequest(workload.ipv4(), null, null, workload.ipv6(), null, null),
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        workload.veth().workloadMac(),
        null,
        null,
        workload.veth().hostInterface(),
        null,
        null,
        null,
        List.of(label),
        null,
        null,
        null,
        null,
        null,
        true);
  }

  /** Returns a rule that allows one endpoint alone to send to another. */
  private static RuleSpec onlyFrom(String to, String from) {
    final PeerRuleSpec peer =
        new PeerRuleSpec(
            List.of(selector(from)),
            null,
            null,
            null,
            null,
            List.of(
                new PortRuleSpec(List.of(new PortSpec(Integer.toString(PORT), null, "UDP")), null)),
            null,
            null,
            null,
            null);
    return new RuleSpec(selector(to), List.of(peer), null, null, null, null, null);
  }

  private static SelectorSpec selector(String app) {
    return new SelectorSpec(Map.of("app", app), null);
  }

  private static boolean isAnswered(Workload from, Workload to, int withinMs) {
    final boolean answered4 = UdpStream.isAnswered(from.namespace(), to.ipv4(), PORT, withinMs);
    assertEquals(
        answered4, UdpStream.isAnswered(from.namespace(), to.ipv6(), PORT, withinMs), "IPv6");
    return answered4;
  }

  private void assertEnforced() {
    assertTrue(isAnswered(client, server, ANSWERED_MS));
    assertTrue(!isAnswered(server, client, PATIENCE_MS));
  }

  private static void await(BooleanSupplier condition) {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < endNs, "in time");
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
  }

  private boolean isReady(int id) {
    return domain.endpoints().get(EndpointIdentifier.local(id)).state() == EndpointState.READY;
  }

  private boolean isHealthy() {
    return domain.datapath().health().read().stream()
        .filter(module -> MODULES.contains(module.moduleId()))
        .allMatch(module -> module.level() == ModuleHealth.Level.OK);
  }

  @Test
  void shouldEnforceWhatCallsAskForAndGoOnWithItInTheNextRun() throws Exception {
    server = workload(SERVER, "app=server");
    client = workload(CLIENT, "app=client");
    try (UdpEchoServer _ = UdpEchoServer.start(server.namespace(), server.ipv4(), PORT);
        UdpEchoServer _ = UdpEchoServer.start(server.namespace(), server.ipv6(), PORT);
        UdpEchoServer _ = UdpEchoServer.start(client.namespace(), client.ipv4(), PORT);
        UdpEchoServer _ = UdpEchoServer.start(client.namespace(), client.ipv6(), PORT)) {
      assertTrue(isAnswered(client, server, ANSWERED_MS));
      assertTrue(isAnswered(server, client, ANSWERED_MS));
      domain
          .policy()
          .change(
              PolicyChange.add(
                  List.of(onlyFrom("server", "client"), onlyFrom("client", "other")),
                  Replacement.of(false, List.of())))
          .get(LONGEST_SEC, TimeUnit.SECONDS);
      assertEnforced();
      await(this::isHealthy);
      assertTrue(heard.contains(SERVER + " " + EndpointState.READY), heard.toString());

      end();
      assertEnforced();
      start();
      await(() -> isReady(SERVER) && isReady(CLIENT));
      assertEquals(2, domain.policy().get(List.of()).rules().size());
      assertEnforced();
      assertEquals(
          List.of(),
          domain
              .endpoints()
              .delete(EndpointIdentifier.local(CLIENT))
              .get(LONGEST_SEC, TimeUnit.SECONDS));
      assertTrue(!isAnswered(client, server, PATIENCE_MS));
    }
  }

  private static RuleSpec from(EntrySource source, RuleSpec rule) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        rule.labels(),
        rule.description(),
        rule.enableDefaultDeny(),
        source);
  }

  private void change(PolicyChange change) throws Exception {
    domain.policy().change(change).get(LONGEST_SEC, TimeUnit.SECONDS);
  }

  /** A service of the API without a number, by which the server is reached. */
  private Service service(String frontend, Backend.State state) {
    return new Service(
        Service.UNNUMBERED,
        new Frontend(IpAddress.parse(frontend), PORT, ServiceProtocol.UDP),
        List.of(new Backend(IpAddress.parse(server.ipv4()), PORT, state, 1, null)),
        false,
        0,
        null,
        null);
  }

  private boolean isServed(String frontend, int withinMs) {
    return UdpStream.isAnswered(client.namespace(), frontend, PORT, withinMs);
  }

  private static <T> T done(CompletableFuture<T> change) throws Exception {
    return change.get(LONGEST_SEC, TimeUnit.SECONDS);
  }

  private static String conflict(CompletableFuture<Void> change) {
    final Refusal refusal =
        assertInstanceOf(
            Refusal.class, assertThrows(ExecutionException.class, () -> done(change)).getCause());
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    return refusal.getMessage();
  }

  @Test
  void shouldKeepApartWhatTwoSourcesWriteAlsoInTheNextRun() throws Exception {
    server = workload(SERVER, "app=server");
    client = workload(CLIENT, "app=client");
    final RuleSpec own = onlyFrom("server", "client");
    final List<RuleSpec> foreign =
        List.of(from(CLUSTER, own), from(CLUSTER, onlyFrom("client", "other")));
    final Replacement none = Replacement.of(false, List.of());
    change(PolicyChange.add(List.of(own), none));
    change(PolicyChange.add(CLUSTER, foreign, none));
    done(domain.services().put(service(OWN, Backend.State.ACTIVE).numbered(1)));
    final int id =
        done(domain.services().put(service(FOREIGN, Backend.State.ACTIVE).from(CLUSTER)))
            .service()
            .id();
    try (UdpEchoServer _ = UdpEchoServer.start(server.namespace(), server.ipv4(), PORT);
        UdpEchoServer _ = UdpEchoServer.start(server.namespace(), server.ipv6(), PORT);
        UdpEchoServer _ = UdpEchoServer.start(client.namespace(), client.ipv4(), PORT);
        UdpEchoServer _ = UdpEchoServer.start(client.namespace(), client.ipv6(), PORT)) {
      for (final String frontend : List.of(OWN, FOREIGN)) {
        assertTrue(isServed(frontend, ANSWERED_MS), frontend);
      }
      end();
      start();
      await(() -> isReady(SERVER) && isReady(CLIENT));
      assertEquals(
          "id: service %d (%s:%d/UDP) belongs to source 'cluster'".formatted(id, FOREIGN, PORT),
          conflict(domain.services().remove(id)));
      assertEquals(
          "id: service 1 (%s:%d/UDP) belongs to source 'api'".formatted(OWN, PORT),
          conflict(domain.services().remove(1, CLUSTER)));
      done(domain.services().remove(1));
      change(PolicyChange.delete(List.of()));
      assertEquals(foreign, domain.policy().get(List.of()).rules());
      assertEnforced();
      assertTrue(isServed(FOREIGN, ANSWERED_MS));
      assertTrue(!isServed(OWN, PATIENCE_MS));
      final Services.Put changed =
          done(domain.services().put(service(FOREIGN, Backend.State.MAINTENANCE).from(CLUSTER)));
      assertEquals(id, changed.service().id());
      assertTrue(!isServed(FOREIGN, PATIENCE_MS));
      change(PolicyChange.delete(CLUSTER, List.of()));
      assertTrue(isAnswered(server, client, ANSWERED_MS));
    }
  }

  @Test
  void shouldHaveTheNodeForItself() {
    assertThrows(
        AlreadyInUseException.class,
        () -> LockedNode.acquire(directory.resolve("state"), bpf.path()));
    final AlreadyInUseException refused =
        assertThrows(
            AlreadyInUseException.class,
            () -> LockedNode.acquire(directory.resolve("other"), bpf.path()));
    assertTrue(refused.getMessage().startsWith("bpf-root " + bpf.path()), refused.getMessage());
  }
}
