package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.types.OperationException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a build does and leaves out, step by step, also where the interface changes. */
class BuildStepsTest {
  private final FakeRig agent = new FakeRig();

  private static Requests web() {
    return Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web");
  }

  private static Requests unrouted() {
    return web().wired(new DatapathConfiguration(null, null, false, null, null, null));
  }

  private static Requests onto(String interfaceName) {
    return Requests.on(interfaceName).state("ready");
  }

  private OperationException refused(Requests change) {
    return assertThrows(OperationException.class, () -> agent.modify("12", change));
  }

  @Test
  void shouldSetTheInterfaceOfAnUnroutedEndpointUpOnce() {
    agent.node.down.add("lxc1");
    agent.create("12", unrouted());
    assertFalse(agent.node.down.contains("lxc1"));
    agent.node.routesFail = true;
    agent.configure("12", Map.of("Debug", "Enabled"));
    assertEquals(EndpointState.READY, agent.get("12").state(), "nothing was to be set up");
  }

  /** The build that the replacement overtook has set up and routed an interface that is gone. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldSetAnInterfaceUpThatWasReplacedDuringABuild(boolean isRouted) {
    agent.datapath.holds = call -> call.startsWith("ipcache +");
    agent.create("12", (isRouted ? web() : unrouted()).later());
    agent.run();
    agent.node.events.add(handler -> handler.onDeviceRemoved(101, "lxc1"));
    agent.run();
    agent.datapath.holds = call -> false;
    agent.datapath.fails = call -> call.equals("close 12");
    agent.datapath.answerHeld();
    agent.advance(Duration.ofSeconds(10));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertTrue(agent.datapath.attached.containsKey(12));
    assertEquals(List.of("lxc1"), agent.node.interfacesSetDown);
    assertFalse(agent.node.down.contains("lxc1"));
  }

  @Test
  void shouldSetTheFormerInterfaceUpAgainWhereAMoveIsUndone() {
    agent.create("12", unrouted());
    agent.datapath.fails = call -> call.equals("detach 12");
    refused(onto("lxc4"));
    agent.advance(Duration.ofSeconds(10));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals("lxc1", agent.get("12").networking().interfaceName());
    assertFalse(agent.node.down.contains("lxc1"));
  }

  /** Without its programs the former interface would pass everything that its routes bring. */
  @Test
  void shouldKeepTheProgramsOfTheFormerInterfaceWhereItsRoutesStay() {
    agent.create("12", web());
    agent.datapath.calls.clear();
    agent.node.routesFail = true;
    final String message = refused(onto("lxc4")).getMessage();
    assertTrue(
        message.startsWith("endpoint 12: detach from lxc1: ip route del: Operation not permitted"),
        message);
    assertFalse(agent.datapath.calls.contains("detach 12"), agent.datapath.calls.toString());
    assertEquals(101, agent.datapath.attached.get(12).ifindex());
  }

  @Test
  void shouldOpenTheFormerInterfaceNoMoreWhereOnlyClosingProgramsWereThere() {
    agent.datapath.fails = call -> call.equals("attach 12");
    agent.create("12", web().later());
    agent.run();
    assertEquals(EndpointState.NOT_READY, agent.get("12").state());
    agent.datapath.fails = call -> false;
    agent.datapath.calls.clear();
    agent.modify("12", onto("lxc4"));
    assertTrue(agent.node.down.contains("lxc1"));
    assertEquals("detach 12", agent.datapath.calls.getFirst(), agent.datapath.calls.toString());
    assertEquals(104, agent.datapath.attached.get(12).ifindex());
  }

  @Test
  void shouldCloseTheNewInterfaceBeforeItAnswersAMove() {
    agent.create("12", web());
    agent.datapath.fails = call -> call.equals("attach 12");
    final Integer[] closedAtAnswer = new Integer[1];
    final CompletableFuture<EndpointSnapshot> answer =
        agent
            .conductor
            .endpoints()
            .modify(EndpointIdentifier.parse("12"), onto("lxc4").later().build())
            .whenComplete((value, failure) -> closedAtAnswer[0] = agent.datapath.closed.get(12));
    agent.run();
    assertEquals("lxc4", answer.join().networking().interfaceName());
    assertEquals(104, closedAtAnswer[0]);
  }

  @Test
  void shouldRefuseAnInterfaceThatIsReplacedWhileTheEndpointIsStored() {
    final List<String> calls = new ArrayList<>();
    agent.datapath.fails = call -> !calls.add(call);
    agent.store.onSaved = record -> agent.node.hasDevice("lxc1", 777);
    final String message =
        assertThrows(OperationException.class, () -> agent.create("12", web().later()))
            .getMessage();
    assertEquals("interface-name: interface 'lxc1' has index 777, not 101", message);
    assertFalse(calls.contains("close 12"), calls.toString());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
  }

  @Test
  void shouldStoreARecordOnce() {
    agent.create("12", web());
    final int[] saved = new int[1];
    agent.store.onSaved = record -> saved[0]++;
    agent.configure("12", Map.of("Debug", "Enabled"));
    assertEquals(1, saved[0]);
    agent.datapath.fails = call -> call.startsWith("apply 12");
    agent.importRules(TestRules.allowIngress("app=web", "app=web", 80));
    assertEquals(EndpointState.NOT_READY, agent.get("12").state());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(2));
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertEquals(1, saved[0], "the record is the same");
  }

  /** A slow disk delays the answer to the change, and nothing else. */
  @Test
  void shouldServeOthersWhileARecordIsWritten() {
    agent.create("12", web());
    final ArrayDeque<Runnable> writes = new ArrayDeque<>();
    agent.storing = writes::add;
    final CompletableFuture<EndpointSnapshot> answer =
        agent
            .conductor
            .endpoints()
            .configure(EndpointIdentifier.parse("12"), Map.of("Debug", "Enabled"), null);
    agent.run();
    assertFalse(answer.isDone());
    assertEquals(1, writes.size());
    assertEquals(
        1, agent.importRules(TestRules.allowIngress("app=web", "app=web", 80)).rules().size());
    writes.poll().run();
    agent.run();
    assertEquals("Enabled", answer.join().realizedOptions().get("Debug"));
  }

  @Test
  void shouldAnswerACreationThatADeletionOvertakes() {
    agent.datapath.holds = call -> call.equals("close 12");
    final CompletableFuture<EndpointSnapshot> created =
        agent.conductor.endpoints().create(EndpointIdentifier.parse("12"), web().build());
    agent.run();
    final CompletableFuture<List<String>> deleted =
        agent.conductor.endpoints().delete(EndpointIdentifier.parse("12"));
    agent.run();
    agent.datapath.holds = call -> false;
    assertEquals(1, agent.datapath.answerHeld());
    agent.run();
    assertEquals(List.of(), deleted.join());
    assertEquals("id: endpoint agent-local:12 does not exist", created.exceptionNow().getMessage());
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
  }
}
