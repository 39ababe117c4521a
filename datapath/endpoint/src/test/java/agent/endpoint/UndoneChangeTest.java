package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.PolicyEntry;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.identity.DelayedIdentityAllocator;
import agent.identity.IdentityDirectory.IdentityInUse;
import agent.ipam.Lease;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.OperationException;
import agent.types.Prefix;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A PATCH that fails at any step leaves memory, kernel and store as they were before it. */
class UndoneChangeTest {
  /** A request to change endpoint 2. */
  private record Patch(String name, Consumer<FakeRig> request) {
    @Override
    public String toString() {
      return name;
    }
  }

  /** A failure that is injected into one step; {@code isPossible} says which requests have it. */
  private record Fault(String name, Consumer<FakeRig> inject, Predicate<Patch> isPossible) {
    @Override
    public String toString() {
      return name;
    }
  }

  /** Everything that must be the same before and after. */
  private record Everything(
      List<Object> shown,
      List<EndpointRecord> stored,
      Map<Integer, Map<PolicyEntry.Key, PolicyEntry>> policies,
      Map<Integer, EndpointSpec> attached,
      Map<Integer, Integer> identities,
      Map<Prefix, IpcacheEntry> ipcache,
      Set<WorkloadRoute> routes,
      List<IdentityInUse> inUse,
      List<Lease> leases) {}

  private static final List<Patch> PATCHES =
      List.of(
          new Patch("labels", rig -> rig.relabel("2", "role=friend")),
          new Patch("options", rig -> rig.configure("2", Map.of("PolicyAuditMode", "Enabled"))),
          new Patch(
              "options and labels",
              rig ->
                  rig.now(
                      rig.conductor
                          .endpoints()
                          .configure(
                              EndpointIdentifier.parse("2"),
                              Map.of("PolicyAuditMode", "Enabled"),
                              List.of("role=friend")))),
          new Patch(
              "endpoint",
              rig ->
                  rig.modify(
                      "2",
                      Requests.request()
                          .state("ready")
                          .mac("02:00:00:00:00:bb")
                          .containerName("other")
                          .pid(4712)
                          .labels("app=other")
                          .sync())),
          new Patch("interface", rig -> rig.modify("2", Requests.on("lxc4").state("ready"))));

  private static boolean relabels(Patch patch) {
    return patch.name().contains("labels") || patch.name().equals("endpoint");
  }

  private static boolean attaches(Patch patch) {
    return !patch.name().equals("labels");
  }

  private static boolean moves(Patch patch) {
    return patch.name().equals("interface");
  }

  private static Fault call(String prefix, Predicate<Patch> isPossible) {
    return new Fault(
        prefix, rig -> rig.datapath.fails = call -> call.startsWith(prefix), isPossible);
  }

  private static final List<Fault> FAULTS =
      List.of(
          new Fault("store", rig -> rig.store.fails = true, patch -> true),
          new Fault("store after the build", rig -> rig.store.failingSave = 1, patch -> true),
          call("attach 2", UndoneChangeTest::attaches),
          call("identity 2", patch -> patch.name().equals("labels")),
          new Fault(
              "policy map",
              rig ->
                  rig.datapath.fails =
                      call -> call.startsWith("apply 2") || call.equals("synchronize 2"),
              UndoneChangeTest::relabels),
          call("ipcache +", patch -> relabels(patch) || moves(patch)),
          call("ipcache -", UndoneChangeTest::moves),
          call("detach 2", UndoneChangeTest::moves),
          new Fault(
              "part of the routes",
              rig -> rig.node.routesFailLate = true,
              patch -> moves(patch) || patch.name().equals("endpoint")),
          new Fault(
              "routes",
              rig -> rig.node.routesFail = true,
              patch -> moves(patch) || patch.name().equals("endpoint")));

  static Stream<Arguments> cases() {
    final List<Arguments> cases = new ArrayList<>();
    for (final Patch patch : PATCHES) {
      for (final Fault fault : FAULTS) {
        if (fault.isPossible().test(patch)) {
          cases.add(Arguments.of(patch, fault, true));
          cases.add(Arguments.of(patch, fault, false));
        }
      }
    }
    return cases.stream();
  }

  private static FakeRig rig() {
    final FakeRig rig = new FakeRig();
    rig.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    rig.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
    rig.importRules(
        allowIngress("app=web", "role=friend", 80),
        allowIngress("app=client", "app=web", 80),
        allowIngress("role=friend", "app=web", 81),
        allowIngress("app=other", "app=web", 82));
    return rig;
  }

  private static Everything everything(FakeRig rig) {
    final Map<Integer, Map<PolicyEntry.Key, PolicyEntry>> policies = new TreeMap<>();
    rig.datapath.policies.forEach((id, map) -> policies.put(id, Map.copyOf(map)));
    return new Everything(
        List.of(shown(rig.get("1")), shown(rig.get("2"))),
        rig.store.load(),
        policies,
        Map.copyOf(rig.datapath.attached),
        Map.copyOf(rig.datapath.identities),
        Map.copyOf(rig.datapath.ipcache),
        Set.copyOf(rig.node.routed),
        rig.identities.inUse(),
        rig.ipam.leases());
  }

  /** Compares part by part, so that the message of a failure is short. */
  private static void assertSame(Everything before, Everything after) {
    assertEquals(before.shown(), after.shown());
    assertEquals(before.stored(), after.stored());
    assertEquals(before.policies(), after.policies());
    assertEquals(before.attached(), after.attached());
    assertEquals(before.identities(), after.identities());
    assertEquals(before.ipcache(), after.ipcache());
    assertEquals(before.routes(), after.routes());
    assertEquals(before.inUse(), after.inUse());
    assertEquals(before.leases(), after.leases());
  }

  private static List<Object> shown(EndpointSnapshot endpoint) {
    final EndpointHealth health = endpoint.health();
    return List.of(
        endpoint.state(),
        health,
        endpoint.identity(),
        endpoint.labels(),
        endpoint.options(),
        endpoint.realizedOptions(),
        endpoint.externalIdentifiers(),
        endpoint.networking(),
        endpoint.realizedPolicy().ingress().allowed(),
        endpoint.realizedPolicy().identity(),
        endpoint.workload(),
        String.valueOf(endpoint.error()));
  }

  @ParameterizedTest(name = "{0}, {1}, fails once: {2}")
  @MethodSource("cases")
  void shouldUndoTheWholeChange(Patch patch, Fault fault, boolean failsOnce) {
    final FakeRig rig = rig();
    final Everything before = everything(rig);
    fault.inject().accept(rig);
    if (failsOnce && !fault.name().equals("policy map")) {
      final Predicate<String> failing = rig.datapath.fails;
      rig.datapath.fails =
          call -> {
            final boolean fails = failing.test(call);
            if (fails) {
              rig.datapath.fails = other -> false;
            }
            return fails;
          };
    }
    assertThrows(OperationException.class, () -> patch.request().accept(rig));
    rig.datapath.fails = call -> false;
    rig.store.fails = false;
    rig.node.routesFail = false;
    rig.node.routesFailLate = false;
    if (!failsOnce || Set.of("routes", "part of the routes", "policy map").contains(fault.name())) {
      rig.advance(Duration.ofSeconds(10)); // what could not be undone at once is retried
    }
    assertSame(before, everything(rig));
    rig.restart();
    assertEquals(before.stored(), rig.store.load());
    assertEquals(before.policies(), everything(rig).policies());
    assertEquals(before.attached(), rig.datapath.attached);
    patch.request().accept(rig);
    assertEquals(EndpointState.READY, rig.get("2").state());
  }

  @Test
  void shouldUndoAChangeOfLabelsWhoseIdentityIsRefused() {
    final DelayedIdentityAllocator allocator = new DelayedIdentityAllocator();
    final FakeRig rig = new FakeRig(() -> allocator);
    final CompletableFuture<EndpointSnapshot> created =
        rig.conductor
            .endpoints()
            .create(
                EndpointIdentifier.parse("2"),
                Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client").build());
    arrive(rig, allocator);
    final List<Object> before = shown(created.join());
    final List<EndpointRecord> stored = rig.store.load();
    allocator.fail(new OperationException("store: no leader"));
    final CompletableFuture<EndpointSnapshot> answer =
        rig.conductor
            .endpoints()
            .setUserLabels(EndpointIdentifier.parse("2"), List.of("role=friend"));
    arrive(rig, allocator);
    assertEquals("identity: store: no leader", answer.exceptionNow().getMessage());
    assertEquals(before, shown(rig.get("2")));
    assertEquals(stored, rig.store.load());
    allocator.fail(null);
    rig.advance(Duration.ofSeconds(10));
    arrive(rig, allocator);
    assertEquals(before, shown(rig.get("2")), "the refused labels do not come back");
    assertEquals(1, rig.identities.inUse().size());
  }

  private static void arrive(FakeRig rig, DelayedIdentityAllocator allocator) {
    rig.run();
    while (allocator.pending() > 0) {
      allocator.runAll();
      rig.run();
    }
  }

  @Test
  void shouldAnswerARequestWhoseIdentityAnotherRequestReplaces() {
    final DelayedIdentityAllocator allocator = new DelayedIdentityAllocator();
    final FakeRig rig = new FakeRig(() -> allocator);
    rig.conductor
        .endpoints()
        .create(EndpointIdentifier.parse("2"), Requests.on("lxc2").labels("app=client").build());
    arrive(rig, allocator);
    final List<CompletableFuture<EndpointSnapshot>> answers = new ArrayList<>();
    for (final String label : List.of("role=one", "role=two")) {
      answers.add(
          rig.conductor.endpoints().setUserLabels(EndpointIdentifier.parse("2"), List.of(label)));
    }
    arrive(rig, allocator);
    for (final CompletableFuture<EndpointSnapshot> answer : answers) {
      assertEquals(List.of("unspec:role=two"), answer.join().labels().user());
    }
  }

  /** A crash in the middle of its build must not leave a change that was never answered. */
  @Test
  void shouldStoreNothingOfASynchronousChangeThatIsUndone() {
    final FakeRig rig = new FakeRig();
    rig.create("2", Requests.on("lxc2").ipv4("10.5.0.10"));
    final List<EndpointRecord> saved = new ArrayList<>();
    rig.store.onSaved = saved::add;
    final AtomicInteger attempts = new AtomicInteger();
    rig.datapath.fails = call -> call.equals("attach 2") && attempts.getAndIncrement() == 0;
    assertThrows(
        OperationException.class,
        () -> rig.modify("2", Requests.request().state("ready").mac("02:00:00:00:00:bb").sync()));
    assertEquals(1, attempts.get());
    assertEquals(List.of(), saved);
  }

  @Test
  void shouldStoreNothingOfASynchronousChangeWhoseRouteCannotBeAdded() {
    final FakeRig rig = new FakeRig();
    rig.create("2", Requests.on("lxc2").ipv4("10.5.0.10"));
    final List<EndpointRecord> saved = new ArrayList<>();
    rig.store.onSaved = saved::add;
    rig.node.routesFail = true;
    assertThrows(
        OperationException.class,
        () -> rig.modify("2", Requests.request().state("ready").mac("02:00:00:00:00:bb").sync()));
    assertEquals(List.of(), saved);
  }
}
