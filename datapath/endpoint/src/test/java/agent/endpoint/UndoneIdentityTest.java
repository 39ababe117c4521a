package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.identity.DelayedIdentityAllocator;
import agent.identity.Identity;
import agent.types.OperationException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A change of labels is undone while identities are on their way. */
class UndoneIdentityTest {
  private static final String CLIENT = "unspec:app=client";

  private final DelayedIdentityAllocator allocator = new DelayedIdentityAllocator();
  private final FakeRig agent = new FakeRig(() -> allocator);

  /** Requests an endpoint; its identity does not arrive yet. */
  private void create() {
    agent.create("2", Requests.on("lxc2").labels("app=client").later());
    agent.run();
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, agent.get("2").state());
  }

  private CompletableFuture<EndpointSnapshot> relabel(String label) {
    final CompletableFuture<EndpointSnapshot> answer =
        agent.conductor.endpoints().setUserLabels(EndpointIdentifier.parse("2"), List.of(label));
    agent.run();
    return answer;
  }

  private void arrive() {
    agent.run();
    while (allocator.pending() > 0) {
      allocator.runAll();
      agent.run();
    }
  }

  private void assertReadyWithItsFirstLabels() {
    final EndpointSnapshot endpoint = agent.get("2");
    assertEquals(EndpointState.READY, endpoint.state());
    assertEquals(List.of(), endpoint.labels().user());
    assertEquals(List.of(CLIENT), endpoint.identity().labels().toStrings());
    assertEquals(endpoint.identity().id(), agent.datapath.identities.get(2));
    assertEquals(1, agent.identities.inUse().size(), "no other identity is kept");
  }

  @Test
  void shouldAskForTheFirstIdentityAgainWhereThatOfTheChangeIsRefused() {
    create();
    final CompletableFuture<EndpointSnapshot> answer = relabel("role=friend");
    allocator.runNext(); // the first one, which nothing waits for any more
    allocator.fail(new OperationException("store: no leader"));
    allocator.runNext();
    agent.run();
    allocator.fail(null);
    arrive();
    assertEquals("identity: store: no leader", answer.exceptionNow().getMessage());
    assertReadyWithItsFirstLabels();
  }

  @Test
  void shouldAskForTheFirstIdentityAgainWhereTheBuildOfTheChangeFails() {
    create();
    final CompletableFuture<EndpointSnapshot> answer = relabel("role=friend");
    agent.datapath.fails =
        call -> {
          if (call.equals("attach 2")) {
            agent.datapath.fails = other -> false;
            return true;
          }
          return false;
        };
    arrive();
    assertEquals("endpoint 2: attach: the kernel refused", answer.exceptionNow().getMessage());
    assertReadyWithItsFirstLabels();
  }

  /**
   * What the second change undoes is the first change, whose identity is then not wanted either.
   */
  @Test
  void shouldTakeNoIdentityThatArrivesAfterTheChangeIsUndone() {
    create();
    arrive();
    final Identity first = agent.get("2").identity();
    final CompletableFuture<EndpointSnapshot> one = relabel("role=one");
    final CompletableFuture<EndpointSnapshot> two = relabel("role=two");
    allocator.fail(new OperationException("store: no leader"));
    allocator.runNext();
    allocator.runNext();
    allocator.fail(null);
    arrive();
    assertTrue(one.isCompletedExceptionally() && two.isCompletedExceptionally());
    assertEquals(first, agent.get("2").identity());
    assertReadyWithItsFirstLabels();
  }

  /** The second waits for the build of the first, which is also its own. */
  @Test
  void shouldAnswerEveryChangeWithTheFailureOfTheirBuild() {
    create();
    arrive();
    final CompletableFuture<EndpointSnapshot> one = relabel("role=one");
    final CompletableFuture<EndpointSnapshot> two = relabel("role=two");
    agent.datapath.fails = call -> call.startsWith("identity 2");
    assertFalse(two.isDone());
    arrive();
    agent.datapath.fails = call -> false;
    final String failure = "endpoint 2: identity: the kernel refused";
    assertTrue(one.exceptionNow().getMessage().startsWith(failure), one.toString());
    assertTrue(two.exceptionNow().getMessage().startsWith(failure), two.toString());
    agent.advance(Duration.ofSeconds(10));
    arrive();
    assertReadyWithItsFirstLabels();
  }
}
