package agent.endpoint;

import static agent.endpoint.TestRules.denyIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a policy change waits for on dp-conductor while endpoints are created, in commands. */
@Timeout(120)
@KernelTest
class FairnessKernelTest {
  private static final int ENDPOINTS = 50;
  private static final int FIRST_ID = 100;
  private static final int CHANGES = 10;

  /** Operations on endpoints at a time; each has at most one command in the queue. */
  private static final int ACTIVE_OPERATIONS = 8;

  private KernelRig agent;
  private Workload web;
  private Workload client;

  @BeforeEach
  void setUp() throws IOException {
    agent = new KernelRig();
    web = agent.workload(11);
    client = agent.workload(12);
    agent.create(11, web, "app=web");
    agent.create(12, client, "app=client");
  }

  @AfterEach
  void tearDown() throws IOException {
    agent.close();
  }

  @Test
  void shouldForbidAFlowBehindOneStepAndOneCommandOfEachOperationWhileFiftyEndpointsAreCreated()
      throws Exception {
    final List<Workload> workloads = new ArrayList<>();
    for (int i = 0; i < ENDPOINTS; i++) {
      workloads.add(agent.workload(FIRST_ID + i));
    }
    final long idle = mostCommands();
    try (TcpEchoServer server = TcpEchoServer.start(web.namespace(), 8080);
        TcpConnection flow = TcpConnection.open(client.namespace(), web.ipv4(), 8080)) {
      assertTrue(flow.exchangesMore(1, 5000));
      final List<CompletableFuture<EndpointSnapshot>> created = create(workloads);
      agent.now(CompletableFuture.anyOf(created.toArray(CompletableFuture[]::new)));
      final long busy = mostCommands();
      agent.importRules(denyIngress("app=web", "app=client", 8080));
      assertTrue(flow.isCutFor(300), "the flow is forbidden when the answer is there");
      final long left = created.stream().filter(endpoint -> !endpoint.isDone()).count();
      assertTrue(left > 0, "endpoints are still being created");
      assertTrue(
          busy <= idle + 1 + ACTIVE_OPERATIONS,
          busy + " commands and steps, " + idle + " when idle");
      agent.now(CompletableFuture.allOf(created.toArray(CompletableFuture[]::new)));
      assertEquals(1, server.connections());
    }
  }

  private List<CompletableFuture<EndpointSnapshot>> create(List<Workload> workloads) {
    final List<CompletableFuture<EndpointSnapshot>> created = new ArrayList<>();
    for (int i = 0; i < workloads.size(); i++) {
      created.add(
          agent
              .conductor
              .endpoints()
              .create(
                  EndpointIdentifier.local(FIRST_ID + i),
                  KernelRig.requestFor(workloads.get(i), "app=" + i).build()));
    }
    return created;
  }

  /** Returns the largest number of commands and steps from a policy change to its answer. */
  private long mostCommands() {
    final List<PolicyEntry> entry =
        List.of(PolicyEntry.allow(999, PolicyDirection.INGRESS, 6, 8080));
    long most = 0;
    for (int i = 0; i < CHANGES; i++) {
      agent.inNamespace(agent::run); // the operations go on
      most = Math.max(most, commandsOf(new PolicyDelta(entry, List.of())));
      most = Math.max(most, commandsOf(new PolicyDelta(List.of(), entry)));
    }
    return most;
  }

  private long commandsOf(PolicyDelta change) {
    final long before = agent.datapath().conductorExecuted();
    final long[] after = new long[1];
    agent
        .datapath()
        .policyMaps()
        .apply(List.of(new PolicyChange(11, 0, change)))
        .thenRun(() -> after[0] = agent.datapath().conductorExecuted())
        .join();
    return after[0] - before;
  }
}
