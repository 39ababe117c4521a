package agent.endpoint.state;

import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** A value for every mutable option; immutable. */
public final class EndpointOptions {
  private static final EndpointOptions DEFAULTS = ofDefaults();
  private static final int EVENTS =
      MutableOption.DROP_NOTIFICATION.bit()
          | MutableOption.TRACE_NOTIFICATION.bit()
          | MutableOption.POLICY_VERDICT_NOTIFICATION.bit();

  private final Map<MutableOption, String> values;
  private final Map<String, String> byName = new LinkedHashMap<>();

  private EndpointOptions(Map<MutableOption, String> values) {
    this.values = values;
    values.forEach((option, value) -> byName.put(option.optionName(), value));
  }

  private static EndpointOptions ofDefaults() {
    final Map<MutableOption, String> values = new EnumMap<>(MutableOption.class);
    for (final MutableOption option : MutableOption.values()) {
      values.put(option, option.defaultValue());
    }
    return new EndpointOptions(values);
  }

  /** Returns the default values. */
  public static EndpointOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns options with changed values.
   *
   * @param changes option name to value
   * @return the changed options
   * @throws agent.types.Refusal INVALID of {@code options.<name>}: unknown or immutable option, or
   *     bad value
   */
  public EndpointOptions with(Map<String, String> changes) {
    if (changes.isEmpty()) {
      return this;
    }
    final Map<MutableOption, String> changed = new EnumMap<>(values);
    changes.forEach(
        (name, value) -> {
          final MutableOption option = MutableOption.named(name);
          changed.put(option, option.check(value));
        });
    return new EndpointOptions(changed);
  }

  /** Returns a copy with one changed value. */
  public EndpointOptions with(MutableOption option, String value) {
    final Map<MutableOption, String> changed = new EnumMap<>(values);
    changed.put(option, option.check(value));
    return new EndpointOptions(changed);
  }

  /** Returns a copy for a workload: its wiring may turn the verification of sources off. */
  public EndpointOptions forWorkload(DatapathConfiguration wiring) {
    return Boolean.TRUE.equals(wiring.disableSourceVerification())
        ? with(MutableOption.SOURCE_IP_VERIFICATION, MutableOption.DISABLED)
        : this;
  }

  /** Returns whether an option is enabled. */
  public boolean enabled(MutableOption option) {
    return MutableOption.ENABLED.equals(values.get(option));
  }

  /** Returns the aggregation level of trace events in force. */
  public MonitorAggregation aggregation() {
    return enabled(MutableOption.DEBUG)
        ? MonitorAggregation.NONE
        : MonitorAggregation.parse("", values.get(MutableOption.MONITOR_AGGREGATION_LEVEL));
  }

  /** Returns the bits of the enabled options for {@code endpoint_config.options}. */
  public int bits() {
    int bits = enabled(MutableOption.DEBUG) ? EVENTS : 0;
    for (final MutableOption option : MutableOption.values()) {
      bits |= enabled(option) ? option.bit() : 0;
    }
    return bits;
  }

  /** Returns option name to value, in the order of the contract's list; unmodifiable. */
  public Map<String, String> toMap() {
    return Collections.unmodifiableMap(byName);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof EndpointOptions that && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return toMap().toString();
  }
}
