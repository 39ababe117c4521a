package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.dns.NameResolver.Resolved;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NamePollerTest {
  private static final Resolved ANSWER = new Resolved(List.of(IpAddress.parse("192.0.2.7")), 20);

  private final Faults faults = new Faults("fine");
  private final Map<String, CompletableFuture<Resolved>> asked = new LinkedHashMap<>();
  private final NamePoller poller =
      new NamePoller(this::ask, new NamesContext().conclude().pauses(), faults);
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
    assertEquals("looking up 1 of 1 names failed: no answer", faults.read().message());
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
    assertEquals("looking up 1 of 1 names failed: no answer", faults.read().message());
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

  @Test
  void shouldNotLookUpANameThatFallsDueWhenNoRuleHasItAnyMore() {
    names = Set.of("a.", "b.");
    stepAsks(0);
    answer(ANSWER);
    stepAsks(0);
    names = Set.of("b.");
    assertEquals(List.of("b."), stepAsks(20_000), "both are due, one is wanted");
    names = Set.of("c.");
    assertEquals(List.of("c."), stepAsks(20_001));
    answer(ANSWER);
    assertEquals(List.of(), stepAsks(20_002));
    assertEquals(List.of("c."), stepAsks(40_002));
    assertEquals(List.of(), stepAsks(100_000), "the lookup of c. is on its way");
  }

  @Test
  void shouldNotLookUpANameThatWaitedForItsTurnWhenNoRuleHasItAnyMore() {
    final Set<String> all =
        IntStream.range(0, 70).mapToObj(i -> i + ".").collect(Collectors.toSet());
    names = all;
    final List<String> first = stepAsks(0);
    final List<CompletableFuture<Resolved>> slow = List.copyOf(asked.values());
    final String waiting =
        all.stream().filter(name -> !first.contains(name)).findFirst().orElseThrow();
    names = Set.of(waiting);
    assertEquals(List.of(), stepAsks(1), "no lookup has ended");
    slow.forEach(one -> one.complete(ANSWER));
    assertEquals(List.of(waiting), stepAsks(2));
    assertEquals(List.of(), stepAsks(100_000));
  }

  @Test
  void shouldTakeOneAnswerOfANameThatARuleHasAgain() {
    names = Set.of("a.");
    stepAsks(0);
    final CompletableFuture<Resolved> former = asked.get("a.");
    names = Set.of();
    stepAsks(1);
    names = Set.of("a.");
    assertEquals(List.of("a."), stepAsks(2), "it is a new name");
    former.complete(new Resolved(List.of(IpAddress.parse("192.0.2.66")), 20));
    asked.get("a.").complete(ANSWER);
    assertEquals(List.of(new NamePoller.Found("a.", ANSWER)), List.copyOf(poller.step(3, names)));
    assertEquals(List.of("a."), stepAsks(20_003), "once");
  }

  @Test
  void shouldPauseNoLongerThanTheLongestPauseHoweverManyFailuresThereAre() {
    names = Set.of("a.");
    long nowMs = 0;
    for (final long pauseMs : new long[] {5_000, 10_000, 20_000, 40_000, 60_000}) {
      assertEquals(List.of("a."), stepAsks(nowMs));
      fail();
      assertEquals(List.of(), stepAsks(nowMs));
      assertEquals(List.of(), stepAsks(nowMs + pauseMs - 1));
      nowMs += pauseMs;
    }
    for (int failures = 5; failures < 80; failures++) {
      assertEquals(List.of("a."), stepAsks(nowMs));
      fail();
      assertEquals(List.of(), stepAsks(nowMs));
      assertEquals(List.of(), stepAsks(nowMs + 59_999), failures + " failures");
      nowMs += 60_000;
    }
  }

  @Test
  void shouldCountTheNamesThatFailAndQuoteTheFirst() {
    names = Set.of("a.", "b.", "c.");
    stepAsks(0);
    asked.get("c.").completeExceptionally(new OperationException("c. fails"));
    asked
        .get("b.")
        .completeExceptionally(new CompletionException(new OperationException("b. fails")));
    asked.get("a.").complete(ANSWER);
    stepAsks(0);
    assertEquals("looking up 2 of 3 names failed: b. fails", faults.read().message());
  }
}
