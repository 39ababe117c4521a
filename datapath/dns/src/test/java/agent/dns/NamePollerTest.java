package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.guard.Faults;
import agent.datapath.manager.spec.ModuleHealth;
import agent.dns.NameResolver.Resolved;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NamePollerTest {
  private static final Resolved ANSWER = new Resolved(List.of(IpAddress.parse("192.0.2.7")), 20);

  private final Faults faults = new Faults("fine");
  private final Map<String, CompletableFuture<Resolved>> asked = new LinkedHashMap<>();
  private final NamePoller poller =
      new NamePoller(this::ask, new NamePoller.Pauses(5_000, 60_000), faults);
  private Set<String> names = Set.of();

  private CompletableFuture<Resolved> ask(String name) {
    final CompletableFuture<Resolved> answer = new CompletableFuture<>();
    asked.put(name, answer);
    return answer;
  }

  private List<String> stepAsks(long nowMs) {
    asked.clear();
    poller.step(nowMs, names);
    return new ArrayList<>(asked.keySet());
  }

  private void answer(Resolved answer) {
    List.copyOf(asked.values()).forEach(one -> one.complete(answer));
  }

  private void fail() {
    List.copyOf(asked.values())
        .forEach(one -> one.completeExceptionally(new OperationException("no answer")));
  }

  @Test
  void shouldLookANewNameUpAtOnceAndAgainWhenItsTimeEnds() {
    names = Set.of("a.");
    assertEquals(List.of("a."), stepAsks(1000));
    assertEquals(List.of(), stepAsks(1000));
    poller.step(1000, names);
  }

  @Test
  void shouldGiveTheAnswersAndWaitForTheirTimeToLive() {
    names = Set.of("a.");
    stepAsks(0);
    answer(ANSWER);
    final List<NamePoller.Found> found = poller.step(100, names);
    assertEquals(List.of(new NamePoller.Found("a.", ANSWER)), found);
    assertEquals(List.of(), stepAsks(20_099));
    assertEquals(List.of("a."), stepAsks(20_100));
  }

  @Test
  void shouldKeepToTheBoundsOfPauses() {
    names = Set.of("a.");
    stepAsks(0);
    answer(new Resolved(List.of(), 0));
    assertEquals(List.of(), stepAsks(0));
    assertEquals(List.of(), stepAsks(4_999));
    assertEquals(List.of("a."), stepAsks(5_000));
    answer(new Resolved(List.of(), Long.MAX_VALUE));
    assertEquals(List.of(), stepAsks(5_000));
    assertEquals(List.of(), stepAsks(64_999));
    assertEquals(List.of("a."), stepAsks(65_000));
  }

  @Test
  void shouldPauseLongerAfterEachFailureAndTellUntilItEnds() {
    names = Set.of("a.");
    stepAsks(0);
    fail();
    assertEquals(List.of(), stepAsks(0));
    assertEquals(ModuleHealth.Level.DEGRADED, faults.read().level());
    assertEquals("1 of 1 names are not looked up: no answer", faults.read().message());
    assertEquals(List.of("a."), stepAsks(5_000));
    fail();
    assertEquals(List.of(), stepAsks(5_000));
    assertEquals(List.of(), stepAsks(14_999));
    assertEquals(List.of("a."), stepAsks(15_000));
    answer(ANSWER);
    stepAsks(15_000);
    assertEquals(ModuleHealth.Level.OK, faults.read().level());
    assertEquals(List.of("a."), stepAsks(35_000));
    fail();
    stepAsks(35_000);
    assertEquals(List.of("a."), stepAsks(40_000), "failures are counted from the last answer");
  }

  @Test
  void shouldForgetNamesThatNoRuleHas() {
    names = Set.of("a.", "b.");
    stepAsks(0);
    fail();
    stepAsks(0);
    names = Set.of("b.");
    stepAsks(1);
    assertEquals("1 of 1 names are not looked up: no answer", faults.read().message());
    assertEquals(List.of("b."), stepAsks(5_000));
    names = Set.of();
    answer(ANSWER);
    assertEquals(List.of(), poller.step(5_001, names), "the answer is too late");
    assertEquals(ModuleHealth.Level.OK, faults.read().level());
    names = Set.of("b.");
    assertEquals(List.of("b."), stepAsks(5_002), "a new name");
  }

  @Test
  void shouldHaveABoundedNumberInFlight() {
    names = IntStream.range(0, 100).mapToObj(i -> i + ".").collect(Collectors.toSet());
    assertEquals(NamePoller.MOST_IN_FLIGHT, stepAsks(0).size());
    final List<CompletableFuture<Resolved>> slow = List.copyOf(asked.values());
    assertEquals(0, stepAsks(0).size());
    slow.getFirst().complete(ANSWER);
    assertEquals(1, stepAsks(0).size());
    slow.forEach(one -> one.complete(ANSWER));
    assertEquals(35, stepAsks(0).size());
  }

  @Test
  void shouldLookUpAgainWhatIsAskedFor() {
    names = Set.of("a.", "b.");
    stepAsks(0);
    answer(ANSWER);
    stepAsks(0);
    poller.again(List.of("b.", "unknown."), 1);
    assertEquals(List.of("b."), stepAsks(1));
    poller.again(List.of("b."), 2);
    assertTrue(stepAsks(2).isEmpty(), "it is on its way");
  }
}
