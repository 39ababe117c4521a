package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.build.PolicyRealization;
import agent.endpoint.config.RuntimeConfiguration;
import agent.endpoint.config.RuntimeOptions;
import agent.policy.PolicyEngine;
import agent.policy.resolve.EnforcementMode;
import agent.types.OperationException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Serves the configuration to other threads. Changes run on {@code ep-conductor}, one after
 * another: the change is stored, set on the endpoints, and then the policy is enforced as wanted.
 * Where a step fails, those before it are undone.
 */
final class ConfigurationProxy implements DaemonConfiguration {
  private static final Logger LOGGER = LogManager.getLogger(ConfigurationProxy.class);

  private final ConductorAgent conductor;
  private final RuntimeConfiguration configuration;
  private final OptionOverride override;
  private final PolicyEngine engine;
  private final PolicyRealization realization;
  private final CompletableFuture<Void> ready;
  private final Function<Runnable, CompletableFuture<Void>> storing;
  private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

  /**
   * Creates a proxy.
   *
   * @param ready changes wait until it has completed
   * @param storing runs writes to the store; its future completes when they are durable
   */
  ConfigurationProxy(
      ConductorAgent conductor,
      RuntimeConfiguration configuration,
      OptionOverride override,
      PolicyEngine engine,
      PolicyRealization realization,
      CompletableFuture<Void> ready,
      Function<Runnable, CompletableFuture<Void>> storing) {
    this.conductor = conductor;
    this.configuration = configuration;
    this.override = override;
    this.engine = engine;
    this.realization = realization;
    this.ready = ready;
    this.storing = storing;
    engine.trace(configuration.wanted().tracesPolicy());
  }

  @Override
  public RuntimeOptions wanted() {
    return configuration.wanted();
  }

  @Override
  public RuntimeOptions realized() {
    return configuration.realized();
  }

  @Override
  public CompletableFuture<Void> change(Map<String, String> options, String enforcement) {
    return ready
        .thenCompose(done -> conductor.submit(() -> queue(options, enforcement)))
        .thenCompose(Function.identity());
  }

  private CompletableFuture<Void> queue(Map<String, String> options, String enforcement) {
    final CompletableFuture<Void> change =
        last.thenComposeAsync(done -> onChange(options, enforcement), conductor::run);
    last = change.exceptionally(failure -> null);
    return change;
  }

  private CompletableFuture<Void> onChange(Map<String, String> options, String enforcement) {
    final RuntimeOptions before = configuration.wanted();
    final RuntimeOptions after = configuration.changed(options, enforcement);
    engine.snapshot(); // fails where the stored rules cannot be read: a build would need them
    return want(after).thenCompose(done -> apply(options, before, after));
  }

  /** Stores what is asked for; where that fails, nothing has changed. */
  private CompletableFuture<Void> want(RuntimeOptions wanted) {
    return storing
        .apply(() -> configuration.store(wanted))
        .thenRunAsync(() -> configuration.want(wanted), conductor::run);
  }

  private CompletableFuture<Void> apply(
      Map<String, String> options, RuntimeOptions before, RuntimeOptions after) {
    engine.trace(after.tracesPolicy());
    final OptionOverride.Run run = override.begin(before.endpoint(), chosen(options, after));
    return run.set()
        .thenComposeAsync(done -> enforce(after.enforcement()), conductor::run)
        .handleAsync((done, failure) -> failure, conductor::run)
        .thenComposeAsync(
            failure ->
                failure == null ? realized(after) : undo(before, run, Answers.unwrapped(failure)),
            conductor::run);
  }

  /** Returns the options of endpoints among the changes, with their canonical values. */
  private static Map<String, String> chosen(Map<String, String> options, RuntimeOptions after) {
    final Map<String, String> chosen = new LinkedHashMap<>(after.endpoint().toMap());
    chosen.keySet().retainAll(options == null ? Map.of().keySet() : options.keySet());
    return chosen;
  }

  private CompletableFuture<Void> enforce(EnforcementMode mode) {
    return engine.mode() == mode
        ? CompletableFuture.completedFuture(null)
        : realization.realize(() -> engine.enforce(mode));
  }

  private CompletableFuture<Void> realized(RuntimeOptions after) {
    configuration.realize();
    LOGGER.info(
        "configuration: {}, policy enforcement {}", after.toMap(), after.enforcement().text());
    return CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> undo(
      RuntimeOptions before, OptionOverride.Run run, RuntimeException failure) {
    final StringBuilder outcome = new StringBuilder(failure.getMessage());
    engine.trace(before.tracesPolicy());
    return want(before)
        .exceptionally(
            notStored -> {
              outcome
                  .append("; it remains stored for the next start: ")
                  .append(Answers.unwrapped(notStored).getMessage());
              return null;
            })
        .thenComposeAsync(done -> run.undo(), conductor::run)
        .thenComposeAsync(done -> enforce(before.enforcement()), conductor::run)
        .handle(
            (done, second) -> {
              if (second != null) {
                outcome.append("; rollback incomplete: ");
                outcome.append(Answers.unwrapped(second).getMessage());
              }
              throw new OperationException(outcome.toString(), failure);
            });
  }
}
