package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointState;
import agent.identity.DelayedIdentityAllocator;
import agent.policy.repository.PolicySnapshot;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each step of a removal waits for the one before, and what is removed is shown as removed. */
class RemovalStepsTest {
  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoint() {
    agent.create("12", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.datapath.calls.clear();
  }

  /** Begins the removal, and runs until it waits for the answer that the datapath holds. */
  private CompletableFuture<List<String>> deleteHolding(String call) {
    agent.datapath.holds = call::equals;
    final CompletableFuture<List<String>> answer =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(12));
    agent.run();
    assertFalse(answer.isDone());
    return answer;
  }

  private void answerHeld() {
    agent.datapath.holds = call -> false;
    assertEquals(1, agent.datapath.answerHeld());
    agent.run();
  }

  private boolean isDetached() {
    return agent.datapath.calls.contains("detach 12");
  }

  /** The removals of many records share a sync, and no request waits for the disk. */
  @Test
  void shouldRemoveRecordsBesideTheConductorAndNothingBefore() {
    agent.create("13", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
    agent.datapath.calls.clear();
    final Deque<Runnable> writes = new ArrayDeque<>();
    agent.storing = writes::add;
    final List<CompletableFuture<List<String>>> answers = new ArrayList<>();
    for (final int id : new int[] {12, 13}) {
      answers.add(agent.conductor.endpoints().delete(EndpointIdentifier.local(id)));
    }
    agent.run();
    assertEquals(2, writes.size(), "both at the same time");
    assertEquals(List.of(), agent.datapath.calls);
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    writes.removeFirst().run();
    agent.run();
    assertEquals(List.of(), answers.getFirst().join());
    assertFalse(answers.getLast().isDone());
    writes.removeFirst().run();
    agent.run();
    assertEquals(List.of(), answers.getLast().join());
    assertEquals(List.of(), agent.store.load());
  }

  @Test
  void shouldNotDetachBeforeItsInterfaceIsDown() {
    final CompletableFuture<List<String>> answer = deleteHolding("host side 12");
    assertFalse(isDetached());
    answerHeld();
    assertTrue(isDetached());
    assertTrue(agent.node.down.contains("lxc1"));
    assertEquals(List.of(), answer.join());
  }

  @Test
  void shouldTouchNothingBeforeTheRemovalIsRemembered() {
    agent.store.fails = true;
    final CompletableFuture<List<String>> answer = deleteHolding("remember 12");
    assertEquals(List.of(), agent.datapath.calls);
    answerHeld();
    assertTrue(isDetached());
    assertEquals(1, answer.join().size());
  }

  /** A policy that is being written may still name the endpoint. */
  @Test
  void shouldNotEndBeforeThePolicyForgetsTheEndpoint() {
    agent.create("13", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
    final List<CompletableFuture<PolicySnapshot>> rules = new ArrayList<>();
    agent.datapath.fails =
        call -> {
          if (call.equals("detach 12")) {
            rules.add(agent.importing(TestRules.allowIngress("app=client", "app=client", 80)));
          }
          return false;
        };
    final CompletableFuture<List<String>> answer = deleteHolding("applied");
    assertTrue(isDetached());
    assertFalse(rules.getFirst().isDone());
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    assertEquals(2, agent.ipam.leases().size(), "its address stays its own");
    answerHeld();
    assertEquals(List.of(), answer.join());
    assertEquals(13, agent.ipam.leases().getFirst().endpointId());
    assertEquals(1, rules.getFirst().join().rules().size());
  }

  @Test
  void shouldNotEndBeforeTheRememberedRemovalIsForgotten() {
    agent.store.fails = true;
    agent.delete("12");
    agent.store.fails = false;
    final CompletableFuture<List<String>> answer = deleteHolding("forget 12");
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    answerHeld();
    assertEquals(List.of(), answer.join());
    assertEquals(Set.of(), agent.datapath.remembered);
  }

  @Test
  void shouldRepeatARemovalThatCannotBeForgotten() {
    agent.store.fails = true;
    agent.delete("12");
    agent.store.fails = false;
    agent.datapath.fails = call -> call.equals("forget 12");
    assertEquals(List.of("the kernel refused"), agent.delete("12"));
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(10));
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(Set.of(), agent.datapath.remembered);
  }

  @Test
  void shouldRunNoOtherRemovalBesideARetry() {
    agent.datapath.fails = call -> call.equals("detach 12");
    agent.delete("12");
    agent.datapath.fails = call -> false;
    agent.datapath.holds = call -> call.equals("host side 12");
    agent.advance(Duration.ofSeconds(1));
    final CompletableFuture<List<String>> answer =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(12));
    agent.run();
    answerHeld();
    assertTrue(answer.isCompletedExceptionally(), "the retry has removed it");
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
  }

  @Test
  void shouldNotBeginBeforeABuildHasEnded() {
    agent.datapath.holds = call -> call.equals("attach 13");
    agent.create("13", Requests.on("lxc2").ipv4("10.5.0.10").later());
    agent.run();
    final CompletableFuture<List<String>> answer =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(13));
    agent.run();
    assertEquals(EndpointState.REGENERATING, agent.get("13").state());
    assertFalse(answer.isDone());
    answerHeld();
    assertEquals(List.of(), answer.join());
    assertFalse(agent.datapath.attached.containsKey(13));
  }

  @Test
  void shouldReleaseTheIdentityOfLabelsThatItHadBefore() {
    agent.datapath.fails = call -> call.startsWith("identity 12");
    agent.modify("12", Requests.request().state("ready").labels("app=other").later());
    agent.run();
    assertEquals(EndpointState.NOT_READY, agent.get("12").state());
    assertEquals(2, agent.identities.inUse().size());
    assertEquals(List.of(), agent.delete("12"));
    assertEquals(List.of(), agent.identities.inUse());
  }

  @Test
  void shouldTellThatItIsRemoved() {
    agent.published.clear();
    agent.delete("12");
    assertEquals(EndpointState.DISCONNECTED, agent.published.getLast().state());
    assertEquals("removed", agent.published.getLast().log().getFirst().message());
  }

  /** What cannot be removed is shown as it is in the kernel. */
  @Test
  void shouldBeConnectedOnlyWhileItsProgramsAreAttached() {
    agent.datapath.fails = call -> call.equals("detach 12");
    agent.delete("12");
    assertTrue(agent.get("12").health().connected());
    agent.datapath.fails = call -> false;
    agent.store.fails = true;
    agent.delete("12");
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    assertFalse(agent.get("12").health().connected());
  }

  @Test
  void shouldReleaseAnIdentityThatArrivesDuringTheRemoval() {
    final DelayedIdentityAllocator allocator = new DelayedIdentityAllocator();
    final FakeRig rig = new FakeRig(() -> allocator);
    rig.create("12", Requests.on("lxc1").labels("app=web").later());
    rig.datapath.fails = call -> call.equals("detach 12");
    assertEquals(List.of("link: EBUSY"), rig.delete("12"));
    allocator.runAll();
    rig.run();
    allocator.runAll();
    rig.run();
    assertEquals(EndpointState.DISCONNECTING, rig.get("12").state());
    assertEquals(List.of(), rig.identities.inUse());
    rig.datapath.fails = call -> false;
    rig.advance(Duration.ofSeconds(10));
    assertEquals(List.of(), rig.conductor.endpoints().list(List.of()));
  }
}
