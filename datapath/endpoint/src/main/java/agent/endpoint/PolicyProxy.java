package agent.endpoint;

import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.build.PolicyRealization;
import agent.policy.EnforcementMode;
import agent.policy.PolicyEngine;
import agent.policy.PolicySnapshot;
import agent.policy.PolicyUpdate;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import agent.types.OperationException;
import java.util.List;
import java.util.Optional;
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
  private final HeldEndpoints held;
  private final CompletableFuture<Void> ready;

  /**
   * Creates a proxy.
   *
   * @param ready changes wait until it has completed
   */
  PolicyProxy(
      ConductorAgent conductor,
      PolicyEngine engine,
      PolicyRealization realization,
      HeldEndpoints held,
      CompletableFuture<Void> ready) {
    this.conductor = conductor;
    this.engine = engine;
    this.realization = realization;
    this.held = held;
    this.ready = ready;
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
    return ready
        .thenCompose(done -> conductor.submit(() -> onChange(what, change)))
        .thenCompose(Function.identity());
  }

  private CompletableFuture<PolicySnapshot> onChange(String what, Supplier<PolicyUpdate> change) {
    final boolean isHeld = engine.isHeld();
    final PolicyUpdate update = change.get();
    LOGGER.info(
        "policy {}: revision {} changes {} endpoints",
        what,
        update.revision(),
        update.endpoints().size());
    final CompletableFuture<Void> realized = realization.realize(update);
    return (isHeld ? realized.thenComposeAsync(done -> held.buildAll(), conductor::run) : realized)
        .thenApply(done -> engine.snapshot())
        .exceptionallyComposeAsync(
            failure -> undo(update.revision(), Answers.unwrapped(failure)), conductor::run);
  }

  /**
   * Takes a change back that the kernel refused, so that nothing of it is there after a restart.
   */
  private CompletableFuture<PolicySnapshot> undo(long revision, RuntimeException failure) {
    LOGGER.warn("policy: revision {} is taken back: {}", revision, failure.getMessage());
    final Optional<PolicyUpdate> back;
    try {
      back = engine.undo(revision);
    } catch (OperationException storeFailure) {
      throw failed(failure, "revision " + revision + " stays: " + storeFailure.getMessage());
    }
    if (back.isEmpty()) {
      throw failed(failure, "revision " + revision + " stays: it was followed by others");
    }
    return realization
        .realize(back.get())
        .handle(
            (done, again) -> {
              throw failed(failure, "the rules are as before");
            });
  }

  private static OperationException failed(RuntimeException failure, String outcome) {
    return new OperationException(failure.getMessage() + "; " + outcome, failure);
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
