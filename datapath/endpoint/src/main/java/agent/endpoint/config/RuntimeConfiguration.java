package agent.endpoint.config;

import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.endpoint.state.EndpointOptions;
import agent.types.OperationException;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The daemon's configuration that can change while it runs: what was asked for, and what is in
 * force. A change is kept across restarts for as long as the daemon is started with the value that
 * it replaced: who starts it with another one means that one. Any thread may read; only the
 * conductor's thread changes it.
 */
public final class RuntimeConfiguration {
  private static final Logger LOGGER = LogManager.getLogger(RuntimeConfiguration.class);

  private final RuntimeOptions started;
  private final RuntimeOptionsStore store;
  private final boolean isUnreadable;
  private volatile RuntimeOptions wanted;
  private volatile RuntimeOptions realized;
  private volatile Set<String> beingSet;

  private RuntimeConfiguration(
      RuntimeOptions started,
      RuntimeOptions wanted,
      Set<String> beingSet,
      RuntimeOptionsStore store,
      boolean isUnreadable) {
    this.isUnreadable = isUnreadable;
    this.started = started;
    this.wanted = wanted;
    this.realized = wanted;
    this.beingSet = beingSet;
    this.store = store;
  }

  /**
   * Returns the configuration of the start-up options with the changes of the previous runs. Where
   * the changes cannot be read, one of them may have restricted traffic: it is as with the
   * strictest values then ({@link RuntimeOptions#strictest}), until the next change is stored.
   *
   * @param started the values of the start-up options
   * @param store keeps the changes
   */
  public static RuntimeConfiguration restore(RuntimeOptions started, RuntimeOptionsStore store) {
    final List<ChangedValue> stored;
    try {
      stored = store.load();
    } catch (UnreadableStateException failure) {
      LOGGER.error("{}", failure.getMessage());
      return new RuntimeConfiguration(started, started.strictest(), Set.of(), store, true);
    }
    RuntimeOptions restored = started;
    for (final ChangedValue change : stored) {
      restored = restored(restored, started, change);
    }
    final RuntimeConfiguration configuration =
        new RuntimeConfiguration(started, restored, beingSet(stored), store, false);
    configuration.forgetOthersThan(stored);
    if (!configuration.beingSet.isEmpty()) {
      LOGGER.info(
          "configuration: {} set on all endpoints: the agent ended during a change of them",
          configuration.beingSet);
    }
    return configuration;
  }

  /** Also one that the start options replace: some endpoints have it. */
  private static Set<String> beingSet(List<ChangedValue> stored) {
    return stored.stream()
        .filter(ChangedValue::isBeingSet)
        .map(ChangedValue::name)
        .filter(EndpointOptions.defaults().toMap()::containsKey)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** A change that was left out now must not come back with a later start. */
  private void forgetOthersThan(List<ChangedValue> stored) {
    final List<ChangedValue> present = changes(wanted, beingSet);
    if (!present.equals(stored)) {
      try {
        store.save(present);
      } catch (OperationException failure) {
        LOGGER.warn("{}", failure.getMessage());
      }
    }
  }

  private static RuntimeOptions restored(
      RuntimeOptions options, RuntimeOptions started, ChangedValue change) {
    if (!change.startValue().equals(started.values().get(change.name()))) {
      LOGGER.info(
          "configuration: {} set by the start options, the changed value '{}' is dropped",
          change.name(),
          change.value());
      return options;
    }
    try {
      return options.restored(change.name(), change.value());
    } catch (Refusal unknown) {
      final String strictest = started.strictest().values().get(change.name());
      LOGGER.warn(
          "configuration: {}: {}; using {}",
          change.name(),
          unknown.getMessage(),
          strictest == null ? "the start options" : strictest);
      return strictest == null ? options : options.restored(change.name(), strictest);
    }
  }

  /** Returns whether the changes of the previous runs could not be read. */
  public boolean isUnreadable() {
    return isUnreadable;
  }

  /** Returns what was asked for. */
  public RuntimeOptions wanted() {
    return wanted;
  }

  /** Returns what is in force. */
  public RuntimeOptions realized() {
    return realized;
  }

  /**
   * Returns the configuration with a change, which is not made yet.
   *
   * @param options option name to value; null changes none
   * @param enforcement the text of the mode; null does not change it
   * @throws Refusal INVALID naming the field
   */
  public RuntimeOptions changed(Map<String, String> options, String enforcement) {
    final RuntimeOptions changed = options == null ? wanted : wanted.with(options);
    return enforcement == null ? changed : changed.enforcing(enforcement);
  }

  /**
   * Returns the names of the options that not all endpoints may have as they are asked for: where
   * this run ends now, the next one sets these on all.
   */
  public Set<String> beingSet() {
    return beingSet;
  }

  /**
   * Stores what is to be asked for; {@link #want} and {@link #setting} follow. Any thread may call.
   *
   * @param setting the names of the options that all endpoints get, also if this run ends before
   */
  public void store(RuntimeOptions options, Set<String> setting) {
    store.save(changes(options, setting));
  }

  /** Sets what is asked for from now on. */
  public void want(RuntimeOptions options) {
    wanted = options;
  }

  /** Sets the names of the options that are stored as being set on all endpoints. */
  public void setting(Set<String> names) {
    beingSet = Set.copyOf(names);
  }

  /** Marks the requested configuration as realized. */
  public void realize() {
    realized = wanted;
  }

  private List<ChangedValue> changes(RuntimeOptions options, Set<String> setting) {
    final Map<String, String> before = started.values();
    final List<ChangedValue> changes = new ArrayList<>();
    options
        .values()
        .forEach(
            (name, value) -> {
              final boolean isBeingSet = setting.contains(name);
              if (isBeingSet || !value.equals(before.get(name))) {
                changes.add(new ChangedValue(name, value, before.get(name), isBeingSet));
              }
            });
    return changes;
  }
}
