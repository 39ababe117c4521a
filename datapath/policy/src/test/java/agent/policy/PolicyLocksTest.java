package agent.policy;

import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.testkit.OtherThread;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What other threads ask of the engine, or tell it, while a change of rules is stored. */
class PolicyLocksTest {
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext().identities(identities).store(new CallingStore()).conclude());
  private Callable<?> call;
  private OtherThread<?> other;

  /** Makes another thread call while the change has the lock. */
  private final class CallingStore implements PolicyStore {
    @Override
    public Optional<PolicyState> load(Consumer<PolicyState> check) {
      return Optional.empty();
    }

    @Override
    public void save(PolicyState state) {
      other = OtherThread.call(call);
      assertTrue(other.waits(), "it waits for the end of the change");
    }
  }

  private static LabelSet set(String... texts) {
    return LabelSet.parse("labels", List.of(texts));
  }

  private void addRuleWhile(Callable<?> called) {
    call = called;
    Changes.add(
        engine,
        List.of(ingress(labels("app", "web"), on(endpoints(labels("app", "db")), tcp(80)))),
        false);
  }

  @Test
  void shouldListTheSelectorsOfWholeChanges() throws Exception {
    final Identity db = identities.acquire(set("app=db")).join();
    final List<SelectorListing> before = engine.selectors();
    addRuleWhile(engine::selectors);
    final List<?> listed = (List<?>) other.result();
    final List<SelectorListing> after = engine.selectors();
    assertEquals(List.of(), before);
    assertEquals(List.of(db.id()), after.getFirst().identities());
    assertTrue(listed.equals(before) || listed.equals(after), listed.toString());
  }

  /** The identity is one that the rule selects: its entry must not be lost between the two. */
  @Test
  void shouldFollowAnIdentityThatAppearsInTheMiddleOfAChange() throws Exception {
    final Identity web = identities.acquire(set("app=web")).join();
    engine.endpointSet(1, web, List.of());
    addRuleWhile(() -> identities.acquire(set("app=db")).join());
    final Identity db = (Identity) other.result();
    engine.refresh();
    assertTrue(
        engine.policyOf(1).orElseThrow().entries().stream()
            .anyMatch(entry -> entry.identity() == db.id()),
        "entries of " + db);
  }
}
