package agent.endpoint;

import agent.policy.EnforcementMode;
import agent.policy.PolicyEngine;
import agent.policy.PolicySnapshot;
import agent.policy.PolicyUpdate;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** The policy, seen from other threads: reads from the engine, changes by the queue. */
final class PolicyProxy implements PolicyService {
  private static final Logger LOGGER = LogManager.getLogger(PolicyProxy.class);

  private final ConductorQueue queue;
  private final PolicyEngine engine;
  private final PolicyRealization realization;

  PolicyProxy(ConductorQueue queue, PolicyEngine engine, PolicyRealization realization) {
    this.queue = queue;
    this.engine = engine;
    this.realization = realization;
  }

  @Override
  public CompletableFuture<PolicySnapshot> importRules(List<RuleSpec> rules) {
    return queue.ask(() -> realized("import", () -> engine.add(rules, true)));
  }

  @Override
  public CompletableFuture<PolicySnapshot> deleteRules(List<String> labels) {
    return queue.ask(() -> realized("delete", () -> engine.delete(labels)));
  }

  private PolicySnapshot realized(String what, Supplier<PolicyUpdate> change) {
    final PolicyUpdate update = change.get();
    LOGGER.info(
        "policy {}: revision {}, {} endpoints change",
        what,
        update.revision(),
        update.endpoints().size());
    realization.realize(update);
    return engine.snapshot();
  }

  @Override
  public PolicySnapshot get(List<String> labels) {
    return labels.isEmpty() ? engine.snapshot() : engine.snapshot(labels);
  }

  @Override
  public List<SelectorListing> selectors() {
    return engine.selectors();
  }

  @Override
  public EnforcementMode mode() {
    return engine.mode();
  }
}
