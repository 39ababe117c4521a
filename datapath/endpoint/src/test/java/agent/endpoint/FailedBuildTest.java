package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A workload whose first build fails stays closed, and is opened by the build that succeeds. */
class FailedBuildTest {
  private static final Prefix ADDRESS = Prefix.parse("10.5.0.9/32");

  private final FakeRig agent = new FakeRig();

  private static Requests web() {
    return Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web");
  }

  private static Requests unrouted() {
    return web().wired(new DatapathConfiguration(null, null, false, null, null, null));
  }

  private EndpointSnapshot createLater(Requests request) {
    final EndpointSnapshot answer = agent.create("12", request.later());
    agent.run();
    return answer;
  }

  private void assertClosed() {
    assertEquals(101, agent.datapath.closed.get(12));
    assertFalse(agent.datapath.attached.containsKey(12));
    assertTrue(agent.node.routed.isEmpty());
    assertFalse(agent.datapath.ipcache.containsKey(ADDRESS));
  }

  @ParameterizedTest
  @ValueSource(strings = {"synchronize 12", "attach 12"})
  void shouldStayClosedUntilARetrySucceeds(String failing) {
    agent.datapath.fails = call -> call.equals(failing);
    createLater(web());
    for (int failures = 1; failures < 4; failures++) {
      final EndpointSnapshot failed = agent.get("12");
      assertEquals(EndpointState.NOT_READY, failed.state());
      assertEquals(HealthLevel.FAILURE, failed.health().overall());
      assertTrue(failed.error().contains("the kernel refused"), failed.error());
      assertEquals(failures, failed.controllers().getFirst().consecutiveFailureCount());
      assertClosed();
      agent.advance(Duration.ofSeconds(1L << failures - 1));
    }
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(8));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals(HealthLevel.OK, agent.get("12").health().overall());
    assertEquals(1, agent.node.routed.size());
    assertTrue(agent.datapath.ipcache.containsKey(ADDRESS));
  }

  @Test
  void shouldStayInFailureWhileARetryRuns() {
    agent.datapath.fails = call -> call.equals("attach 12");
    createLater(web());
    final List<HealthLevel> levels = new ArrayList<>();
    agent.datapath.aroundWrites = () -> levels.add(agent.get("12").health().overall());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(1));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals(HealthLevel.FAILURE, levels.getFirst());
  }

  @Test
  void shouldNotBeReadyBeforeTheKernelHoldsTheEntriesOfItsAddresses() {
    agent.datapath.fails = call -> call.startsWith("ipcache +");
    createLater(web());
    for (int failures = 1; failures < 3; failures++) {
      final EndpointSnapshot failed = agent.get("12");
      assertEquals(EndpointState.NOT_READY, failed.state());
      assertTrue(failed.error().endsWith("ipcache: the kernel refused"), failed.error());
      assertTrue(agent.node.routed.isEmpty());
      agent.advance(Duration.ofSeconds(failures));
    }
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(4));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertTrue(agent.datapath.ipcache.containsKey(ADDRESS));
  }

  @Test
  void shouldNotBeReadyBeforeItsRouteIsThere() {
    agent.node.routesFail = true;
    createLater(web());
    assertEquals(EndpointState.NOT_READY, agent.get("12").state());
    assertTrue(agent.get("12").error().contains("Network is down"), agent.get("12").error());
    agent.node.routesFail = false;
    agent.advance(Duration.ofSeconds(1));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals(1, agent.node.routed.size());
  }

  @Test
  void shouldBeClosedBeforeAnyAnswer() {
    for (final boolean isSynchronous : new boolean[] {false, true}) {
      final FakeRig rig = new FakeRig();
      final boolean[] wasClosed = new boolean[1];
      rig.datapath.fails = call -> !call.startsWith("close");
      final CompletableFuture<EndpointSnapshot> answer =
          rig.conductor
              .endpoints()
              .create(
                  EndpointIdentifier.parse("12"), (isSynchronous ? web() : web().later()).build())
              .whenComplete(
                  (value, failure) ->
                      wasClosed[0] =
                          rig.datapath.closed.containsKey(12) || rig.node.down.contains("lxc1"));
      rig.run();
      assertTrue(answer.isDone());
      assertTrue(wasClosed[0], "synchronous: " + isSynchronous);
    }
  }

  @Test
  void shouldSetTheInterfaceDownWhereItCannotBeClosedAndUpAfterTheBuild() {
    for (final Requests request : List.of(web(), unrouted())) {
      final FakeRig rig = new FakeRig();
      rig.datapath.fails = call -> call.equals("close 12") || call.equals("attach 12");
      rig.create("12", request.later());
      rig.run();
      assertTrue(rig.node.down.contains("lxc1"));
      assertEquals(HealthLevel.FAILURE, rig.get("12").health().overall());
      rig.advance(Duration.ofSeconds(3));
      assertTrue(rig.node.down.contains("lxc1"));
      rig.datapath.fails = call -> call.equals("close 12");
      rig.advance(Duration.ofSeconds(8));
      assertEquals(EndpointState.READY, rig.get("12").state());
      assertFalse(rig.node.down.contains("lxc1"));
    }
  }

  @Test
  void shouldRefuseAWorkloadThatCanNeitherBeClosedNorSetDown() {
    agent.datapath.fails = call -> call.equals("close 12");
    agent.node.routesFail = true;
    final OperationException failure =
        assertThrows(OperationException.class, () -> agent.create("12", web().later()));
    assertTrue(failure.getMessage().contains("could neither be closed"), failure.getMessage());
    assertEquals(List.of(), agent.store.load());
    agent.node.routesFail = false;
    agent.advance(Duration.ofSeconds(10));
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
  }

  @Test
  void shouldStayClosedWhileItsInterfaceIsNotTheOneOfTheRecord() {
    agent.datapath.fails = call -> call.equals("attach 12");
    createLater(web());
    agent.node.hasDevice("lxc1", 777);
    agent.advance(Duration.ofSeconds(20));
    assertEquals(HealthLevel.FAILURE, agent.get("12").health().overall());
    assertTrue(agent.get("12").error().contains("has index 777"), agent.get("12").error());
    assertClosed();
  }

  @Test
  void shouldKeepGoodProgramsWhereALaterBuildFails() {
    agent.create("12", web());
    agent.datapath.fails = call -> call.equals("attach 12");
    agent.modify("12", Requests.request().state("ready").mac("02:00:00:00:00:bb").later());
    agent.run();
    assertEquals(EndpointState.NOT_READY, agent.get("12").state());
    assertEquals(HealthLevel.WARNING, agent.get("12").health().overall());
    assertTrue(agent.datapath.attached.containsKey(12));
    assertEquals(1, agent.node.routed.size());
    assertTrue(agent.node.down.isEmpty());
  }

  @Test
  void shouldUndoACreationThatCannotBeStored() {
    agent.store.fails = true;
    assertThrows(OperationException.class, () -> agent.create("12", web()));
    agent.store.fails = false;
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
    assertTrue(agent.datapath.closed.isEmpty());
    assertEquals(12, agent.create("12", web()).id());
  }

  @Test
  void shouldRemoveTheRecordOfARefusedCreationAsSoonAsTheStoreCanBeWritten() {
    final LeaseStore kept = agent.leases;
    final boolean[] leasesFail = new boolean[1];
    agent.leases =
        new LeaseStore() {
          @Override
          public List<Lease> load() {
            return kept.load();
          }

          @Override
          public void save(List<Lease> leases) {
            if (leasesFail[0]) {
              agent.store.fails = true; // the record is stored before the leases
              throw new OperationException("no space left on device");
            }
            kept.save(leases);
          }
        };
    agent.restart();
    leasesFail[0] = true;
    assertThrows(OperationException.class, () -> agent.create("12", web()));
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    EndpointRig.assertRefused(
        Refusal.Kind.CONFLICT, "id", () -> agent.create("12", Requests.on("lxc2")));
    leasesFail[0] = false;
    agent.store.fails = false;
    leasesFail[0] = false;
    agent.advance(Duration.ofSeconds(10));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(12, agent.create("12", web()).id());
  }
}
