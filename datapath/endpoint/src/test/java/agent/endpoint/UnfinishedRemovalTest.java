package agent.endpoint;

import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A deletion that cannot finish is kept, shown, and repeated until it has finished. */
class UnfinishedRemovalTest {
  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    agent.create("12", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
  }

  private void fail(String step) {
    switch (step) {
      case "store" -> agent.store.fails = true;
      case "routes" -> agent.node.routesFail = true;
      default -> agent.datapath.fails = call -> call.startsWith(step);
    }
  }

  private void heal() {
    agent.store.fails = false;
    agent.node.routesFail = false;
    agent.datapath.fails = call -> false;
  }

  private void assertUnfinished() {
    final EndpointSnapshot endpoint = agent.get("12");
    assertEquals(EndpointState.DISCONNECTING, endpoint.state());
    assertEquals(HealthLevel.WARNING, endpoint.health().overall());
    assertTrue(endpoint.controllers().getFirst().consecutiveFailureCount() > 0);
    assertEquals("Warning", endpoint.log().getFirst().code());
    assertEquals(endpoint.error(), endpoint.controllers().getFirst().lastFailureMessage());
  }

  private void assertGone() {
    assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.get("12"));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
    assertEquals(List.of(), agent.store.load());
    assertEquals(Set.of(), agent.datapath.attached.keySet());
    assertEquals(Set.of(), agent.datapath.policies.keySet());
    assertEquals(Set.of(), agent.datapath.remembered);
    assertEquals(Set.of(), agent.node.routed);
    assertFalse(agent.datapath.ipcache.containsKey(Prefix.parse("10.5.0.9/32")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"store", "routes", "detach", "ipcache -"})
  void shouldRepeatTheRemovalUntilItHasFinished(String step) {
    fail(step);
    final List<String> errors = agent.delete("12");
    assertEquals(1, errors.size(), errors.toString());
    assertUnfinished();
    assertEquals(1, agent.ipam.leases().size(), "no other endpoint gets its address");
    agent.advance(Duration.ofSeconds(20));
    assertUnfinished();
    heal();
    agent.advance(Duration.ofSeconds(8));
    assertGone();
    assertEquals(12, agent.create("12", Requests.on("lxc1").ipv4("10.5.0.9")).id());
  }

  @Test
  void shouldFinishByAnotherRequest() {
    fail("detach");
    assertEquals(List.of("link: EBUSY"), agent.delete("12"));
    assertEquals(List.of("link: EBUSY"), agent.delete("12"));
    heal();
    assertEquals(List.of(), agent.delete("12"));
    assertGone();
    agent.create("12", Requests.on("lxc1").ipv4("10.5.0.9"));
    agent.advance(Duration.ofSeconds(30));
    assertEquals(EndpointState.READY, agent.get("12").state(), "no retry removes the new one");
  }

  @Test
  void shouldRefuseChangesMeanwhile() {
    fail("detach");
    agent.delete("12");
    assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.relabel("12", "role=friend"));
    assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.create("12", Requests.on("lxc2")));
    assertRefused(
        Refusal.Kind.CONFLICT, "interface-name", () -> agent.create("13", Requests.on("lxc1")));
  }

  @Test
  void shouldContinueAfterARestartWhereTheStoreWasReadOnly() {
    fail("store");
    final List<String> errors = agent.delete("12");
    assertTrue(errors.getFirst().contains("also after a restart"), errors.toString());
    assertEquals(Set.of(12), agent.datapath.remembered);
    assertFalse(agent.datapath.attached.containsKey(12), "it is removed from the kernel");
    agent.restart();
    assertUnfinished();
    assertEquals(Set.of(), agent.datapath.attached.keySet());
    assertTrue(agent.node.down.contains("lxc1"));
    heal();
    agent.advance(Duration.ofSeconds(8));
    assertGone();
    agent.restart();
    assertGone();
  }

  @Test
  void shouldSayWhereTheRemovalCannotBeRemembered() {
    agent.store.fails = true;
    agent.datapath.fails = call -> call.startsWith("remember");
    final List<String> errors = agent.delete("12");
    assertTrue(
        errors.getFirst().contains("but a restart of the agent before that would restore"),
        errors.toString());
    heal();
    agent.advance(Duration.ofSeconds(8));
    assertGone();
  }

  @ParameterizedTest
  @ValueSource(strings = {"detach 12", "remember 12"})
  void shouldRepeatARemovalWithACallThatThrows(String failing) {
    agent.store.fails = true;
    agent.datapath.fails =
        call -> {
          if (call.equals(failing)) {
            throw new OperationException("the queue is full");
          }
          return false;
        };
    final List<String> errors = agent.delete("12");
    assertEquals("the queue is full", errors.getLast(), errors.toString());
    assertUnfinished();
    heal();
    agent.advance(Duration.ofSeconds(8));
    assertGone();
  }

  @Test
  void shouldContinueAfterARestartWhereTheProgramsCouldNotBeDetached() {
    fail("detach");
    agent.delete("12");
    agent.restart();
    assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.get("12"));
    assertTrue(agent.datapath.attached.containsKey(12));
    assertTrue(agent.node.down.contains("lxc1"));
    assertTrue(
        agent.conductor.restoreProgress().read().message().contains("endpoint 12"),
        agent.conductor.restoreProgress().read().message());
    agent.advance(Duration.ofSeconds(20));
    assertTrue(agent.datapath.attached.containsKey(12));
    heal();
    agent.advance(Duration.ofSeconds(60));
    assertGone();
    assertEquals(
        "no endpoint is being restored", agent.conductor.restoreProgress().read().message());
  }

  @Test
  void shouldLeaveAnEndpointAloneThatGotTheIdOfALeftOver() {
    fail("detach");
    agent.delete("12");
    agent.restart();
    agent.create("12", Requests.on("lxc2").ipv4("10.5.0.9").labels("app=web"));
    heal();
    agent.advance(Duration.ofSeconds(120));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals(102, agent.datapath.attached.get(12).ifindex());
  }

  @Test
  void shouldForgetARememberedRemovalWithoutARecord() {
    agent.datapath.remembered.add(40);
    agent.restart();
    assertEquals(Set.of(), agent.datapath.remembered);
    assertEquals(EndpointState.READY, agent.get("12").state());
  }

  @Test
  void shouldNotSetAnotherInterfaceDownThatGotTheNameOrTheIndex() {
    agent.node.hasDevice("lxc1", 777);
    assertEquals(List.of(), agent.delete("12"));
    assertTrue(agent.node.down.isEmpty());
    agent.create("13", Requests.on("lxc2").labels("app=web"));
    agent.store.remove(13);
    agent.datapath.hasLinks = false;
    agent.node.present.remove("lxc2");
    agent.node.hasDeviceWithMac("stranger", 102, "02:00:00:00:99:99");
    agent.restart();
    assertFalse(agent.datapath.attached.containsKey(13));
    assertTrue(agent.node.down.isEmpty());
  }

  @Test
  void shouldNotSetTheInterfaceOfAKnownEndpointDown() {
    agent.datapath.closed.put(40, 101); // the index of endpoint 12's interface
    agent.restart();
    assertEquals(List.of(), agent.node.interfacesSetDown);
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertFalse(agent.datapath.closed.containsKey(40));
  }

  /** What the kernel no longer holds of its programs is no reason to leave its interface up. */
  @Test
  void shouldSetTheInterfaceDownWhoseProgramsAnotherProgramDetached() {
    agent.datapath.hasLinks = false;
    assertEquals(List.of(), agent.delete("12"));
    assertTrue(agent.node.down.contains("lxc1"));
    assertGone();
  }

  @Test
  void shouldFinishAtTheStartWhereTheStoreCanBeWrittenAgain() {
    fail("store");
    agent.delete("12");
    heal();
    agent.datapath.calls.clear();
    agent.restart();
    assertGone();
    assertFalse(agent.datapath.calls.contains("ipcache +[10.5.0.9/32]"), "not for a moment");
  }
}
