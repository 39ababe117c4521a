package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.build.PolicyRealization;
import agent.endpoint.config.RuntimeConfiguration;
import agent.endpoint.config.RuntimeOptions;
import agent.policy.PolicyEngine;
import agent.policy.resolve.EnforcementMode;
import agent.types.OperationException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Serves the configuration to other threads. Changes run on {@code ep-conductor}, one after
 * another: the change is stored, set on the endpoints, and then the policy is enforced as wanted.
 * Where a step fails, those before it are undone. From the first store to the last one the options
 * are stored as being set: where the agent ends meanwhile, the next run sets them on all endpoints.
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
    ready.thenRunAsync(this::settleRestored, conductor::run);
  }

  /** The endpoints are restored with the options that the previous run was setting. */
  private void settleRestored() {
    settled(configuration.beingSet())
        .exceptionally(
            failure -> {
              LOGGER.warn(
                  "configuration: {} of all endpoints cannot be stored: {}",
                  configuration.beingSet(),
                  Answers.unwrapped(failure).getMessage());
              return null;
            });
  }

  /**
   * Returns a future that completes when none of these options is being set on all endpoints, also
   * not by the next run. It fails where that cannot be stored. For the conductor's thread.
   */
  CompletableFuture<Void> settled(Set<String> options) {
    return Collections.disjoint(options, configuration.beingSet())
        ? CompletableFuture.completedFuture(null)
        : queue(this::settle);
  }

  /** All endpoints have what is being set: stores each of them, and then that they have it. */
  private CompletableFuture<Void> settle() {
    return configuration.beingSet().isEmpty()
        ? CompletableFuture.completedFuture(null)
        : storeEndpoints()
            .thenComposeAsync(done -> want(configuration.wanted(), Set.of()), conductor::run);
  }

  private CompletableFuture<Void> storeEndpoints() {
    final Set<String> set = configuration.beingSet();
    return set.isEmpty() ? CompletableFuture.completedFuture(null) : override.store(set);
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
        .thenCompose(
            done ->
                conductor.submit(
                    () -> queue(() -> settle().thenCompose(set -> onChange(options, enforcement)))))
        .thenCompose(Function.identity());
  }

  private CompletableFuture<Void> queue(Supplier<CompletableFuture<Void>> work) {
    final CompletableFuture<Void> ended = last.thenComposeAsync(done -> work.get(), conductor::run);
    last = ended.exceptionally(failure -> null);
    return ended;
  }

  private CompletableFuture<Void> onChange(Map<String, String> options, String enforcement) {
    final RuntimeOptions before = configuration.wanted();
    final RuntimeOptions after = configuration.changed(options, enforcement);
    engine.snapshot(); // fails where the stored rules cannot be read: a build would need them
    final Map<String, String> chosen = chosen(options, after);
    return want(after, chosen.keySet()).thenCompose(done -> apply(chosen, before, after));
  }

  /**
   * Stores what is asked for, and which options all endpoints then get, also where this run ends
   * before they have them; where that fails, nothing has changed.
   */
  private CompletableFuture<Void> want(RuntimeOptions wanted, Set<String> setting) {
    return storing
        .apply(() -> configuration.store(wanted, setting))
        .thenRunAsync(
            () -> {
              configuration.want(wanted);
              configuration.setting(setting);
            },
            conductor::run);
  }

  private CompletableFuture<Void> apply(
      Map<String, String> chosen, RuntimeOptions before, RuntimeOptions after) {
    engine.trace(after.tracesPolicy());
    final OptionOverride.Run run = override.begin(before.endpoint(), chosen);
    return run.set()
        .thenComposeAsync(done -> enforce(after.enforcement()), conductor::run)
        .thenComposeAsync(done -> settle(), conductor::run)
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
        : realization
            .commit(() -> engine.beginEnforcing(mode))
            .thenCompose(commits -> realization.realize(commits.getFirst().update()));
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
    configuration.want(before);
    return run.undo()
        .thenComposeAsync(done -> enforce(before.enforcement()), conductor::run)
        .thenComposeAsync(done -> storeEndpoints(), conductor::run)
        .exceptionally(
            second -> {
              outcome.append("; rollback incomplete: ");
              outcome.append(Answers.unwrapped(second).getMessage());
              return null;
            })
        .thenComposeAsync(done -> want(before, Set.of()), conductor::run)
        .handle(
            (done, notStored) -> {
              if (notStored != null) {
                outcome.append("; it remains stored for the next start: ");
                outcome.append(Answers.unwrapped(notStored).getMessage());
              }
              throw new OperationException(outcome.toString(), failure);
            });
  }
}
