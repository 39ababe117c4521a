package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.conductor.ConductorAgent;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointStore;
import agent.identity.IdentityAllocator;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.ipam.LeaseStore;
import agent.maps.layout.MapSize;
import agent.node.NodeAddressing;
import agent.policy.PolicyChange;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.repository.PolicySnapshot;
import agent.policy.repository.PolicyStore;
import agent.policy.repository.Replacement;
import agent.policy.spec.RuleSpec;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * An agent without the HTTP API: the real identities, addresses, policy and endpoints on the
 * datapath and node of a subclass, with stores that keep their content across restarts. The test's
 * thread runs the conductor, so no work happens between two calls.
 */
abstract class EndpointRig {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);
  private static final int MAX_CYCLES = 1_000_000;

  IdentityAllocator identities;
  Ipam ipam;
  PolicyEngine policy;
  EndpointConductor conductor;

  private boolean isToggled;
  RestoreReport report;
  LeaseStore leases = LeaseStore.inMemory();
  final PolicyStore rules = PolicyStore.inMemory();

  /** Runs writes of rules. */
  Executor storingRules = Runnable::run;

  /** Runs writes of leases. */
  Executor storingLeases = Runnable::run;

  /** Resolves policies beside the conductor. */
  Executor resolving = Runnable::run;

  /** Whether the conductor works, and whether it runs a write of a store for that. */
  private boolean isWorking;

  private boolean isStoring;

  int mapCapacity = MapSize.POLICY_MAP_MAX_ENTRIES;

  /**
   * Returns a context with the parts of the subclass: datapath, devices, addresses, routes, clocks
   * and names.
   */
  abstract EndpointContext baseContext();

  /** Returns the addresses of the node. */
  abstract NodeAddressing addressing();

  /** Sets the clock of leases, if the subclass has one. */
  abstract IpamContext clocked(IpamContext context);

  /** Returns whether other threads complete futures, so that {@link #now} must wait for them. */
  abstract boolean hasOtherThreads();

  /** Returns the identity allocator of this run. */
  IdentityAllocator allocator() {
    return new LocalIdentityAllocator();
  }

  /**
   * Starts the next run of the agent on the state of the stores and the datapath, and waits until
   * the endpoints are restored.
   */
  final void launch(EndpointStore store) {
    report = now(begin(store));
  }

  /** Starts the next run of the agent and returns the result of its restoration. */
  final CompletableFuture<RestoreReport> begin(EndpointStore store) {
    final NodeAddressing addressing = addressing();
    identities = allocator();
    ipam =
        Ipam.open(
            clocked(
                    new IpamContext()
                        .pool(
                            new AddressPool(
                                AddressPool.DEFAULT,
                                List.of(addressing.ipv4().range(), addressing.ipv6().range())))
                        .gateways(addressing.ipv4().gateway(), addressing.ipv6().gateway())
                        .store(leases)
                        .storing(
                            write ->
                                CompletableFuture.runAsync(
                                    write, work -> storingLeases.execute(work))))
                .conclude());
    policy =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .cidrIdentities(new LocalCidrIdentityAllocator())
                .store(rules)
                .storing(
                    write -> CompletableFuture.runAsync(write, work -> storingRules.execute(work)))
                .beside(task -> CompletableFuture.runAsync(task, work -> resolving.execute(work)))
                .mapCapacity(mapCapacity)
                .conclude());
    conductor =
        EndpointConductor.launch(
            baseContext()
                .policy(policy)
                .identities(identities)
                .ipam(ipam)
                .addressing(addressing)
                .store(store));
    return conductor.restore();
  }

  /** Runs the conductor until the answer arrives, and returns it. */
  <T> T now(CompletableFuture<T> answer) {
    final long deadlineNs = System.nanoTime() + TIMEOUT_NS;
    do {
      run();
    } while (hasOtherThreads() && !answer.isDone() && System.nanoTime() < deadlineNs);
    run();
    if (!answer.isDone()) {
      throw new IllegalStateException("no answer");
    }
    try {
      return answer.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
    }
  }

  /** Fills the queue of the conductor: until it runs, it refuses every further command. */
  final void fillQueue() {
    CompletableFuture<Void> last;
    do {
      last = conductor.agent().run(() -> {});
    } while (!last.isCompletedExceptionally());
  }

  /** Runs the conductor until it has no work. */
  void run() {
    final ConductorAgent agent = conductor.agent();
    for (int cycles = 0; works(agent); cycles++) {
      if (cycles == MAX_CYCLES) {
        throw new IllegalStateException("the conductor does not come to rest");
      }
      Thread.onSpinWait();
    }
  }

  private boolean works(ConductorAgent agent) {
    isWorking = true;
    try {
      return agent.doWork() > 0;
    } finally {
      isWorking = false;
    }
  }

  /** Runs a write of a store, as the thread of the disk does. */
  final void store(Runnable write) {
    isStoring = true;
    try {
      write.run();
    } finally {
      isStoring = false;
    }
  }

  /** Fails where the conductor itself would wait for the disk. */
  final void requireStoring() {
    if (isWorking && !isStoring) {
      throw new IllegalStateException("the conductor writes to a store itself");
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

  /** Imports rules; they replace those with the same labels. */
  PolicySnapshot importRules(RuleSpec... specs) {
    return now(importing(specs));
  }

  /** Begins an import as {@link #importRules}. */
  CompletableFuture<PolicySnapshot> importing(RuleSpec... specs) {
    return conductor
        .policy()
        .change(PolicyChange.add(List.of(specs), Replacement.of(true, List.of())));
  }

  /** Deletes the rules that have all of these labels; without labels all rules. */
  PolicySnapshot deleteRules(String... labels) {
    return now(conductor.policy().change(PolicyChange.delete(List.of(labels))));
  }

  /**
   * Changes an option of an endpoint.
   *
   * @param cycle a cycle of the conductor, repeated until the answer
   * @return how many commands and steps of the conductor that took, those of others among them
   */
  long stepsToToggle(int id, Runnable cycle) {
    isToggled = !isToggled;
    final long before = conductor.agent().executed();
    final CompletableFuture<EndpointSnapshot> toggled =
        conductor
            .endpoints()
            .configure(
                EndpointIdentifier.local(id),
                Map.of("DropNotification", isToggled ? "Enabled" : "Disabled"),
                null);
    while (!toggled.isDone()) {
      cycle.run();
    }
    toggled.join();
    return conductor.agent().executed() - before;
  }

  static void assertRefused(Refusal.Kind kind, String field, Runnable call) {
    final Refusal refusal = assertThrows(Refusal.class, call::run);
    assertEquals(kind, refusal.kind(), refusal.getMessage());
    assertEquals(field, refusal.field(), refusal.getMessage());
  }

  static void assertFailed(Runnable call) {
    assertThrows(OperationException.class, call::run);
  }
}
