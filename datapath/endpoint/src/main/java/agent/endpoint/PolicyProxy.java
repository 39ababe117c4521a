package agent.endpoint;

import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.build.PolicyRealization;
import agent.policy.EnforcementMode;
import agent.policy.PolicyEngine;
import agent.policy.PolicySnapshot;
import agent.policy.PolicyUpdate;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Serves policy requests of other threads: reads come from the engine, changes run on {@code
 * ep-conductor}.
 */
final class PolicyProxy implements PolicyService {
  private static final Logger LOGGER = LogManager.getLogger(PolicyProxy.class);

  private final ConductorAgent conductor;
  private final PolicyEngine engine;
  private final PolicyRealization realization;

  PolicyProxy(ConductorAgent conductor, PolicyEngine engine, PolicyRealization realization) {
    this.conductor = conductor;
    this.engine = engine;
    this.realization = realization;
  }

  @Override
  public CompletableFuture<PolicySnapshot> importRules(List<RuleSpec> rules) {
    return ask("import", () -> engine.add(rules, true));
  }

  @Override
  public CompletableFuture<PolicySnapshot> deleteRules(List<String> labels) {
    return ask("delete", () -> engine.delete(labels));
  }

  private CompletableFuture<PolicySnapshot> ask(String what, Supplier<PolicyUpdate> change) {
    return conductor.submit(() -> onChange(what, change)).thenCompose(Function.identity());
  }

  private CompletableFuture<PolicySnapshot> onChange(String what, Supplier<PolicyUpdate> change) {
    final PolicyUpdate update = change.get();
    LOGGER.info(
        "policy {}: revision {} changes {} endpoints",
        what,
        update.revision(),
        update.endpoints().size());
    return realization.realize(update).thenApply(done -> engine.snapshot());
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
