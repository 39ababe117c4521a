package agent.endpoint.config;

import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.policy.resolve.EnforcementMode;
import agent.types.Refusal;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A value for everything of the daemon's configuration that can change while it runs; immutable.
 *
 * @param endpoint the options of new endpoints
 * @param tracesPolicy whether each decision of a policy resolution is logged
 * @param enforcement when policy is enforced
 */
public record RuntimeOptions(
    EndpointOptions endpoint, boolean tracesPolicy, EnforcementMode enforcement) {
  /** The option of the daemon that endpoints do not have (decisions.md, section 6). */
  private static final String POLICY_TRACING = "PolicyTracing";

  /** The field of a request, and the name in the store, of the enforcement. */
  private static final String POLICY_ENFORCEMENT = "policy-enforcement";

  /**
   * Returns a copy with changed values.
   *
   * @param changes option name to value
   * @throws Refusal INVALID of {@code options.<name>}: unknown or immutable option, or bad value
   */
  RuntimeOptions with(Map<String, String> changes) {
    final Map<String, String> ofEndpoints = new LinkedHashMap<>(changes);
    final String tracing = ofEndpoints.remove(POLICY_TRACING);
    return new RuntimeOptions(
        endpoint.with(ofEndpoints),
        tracing == null ? tracesPolicy : isEnabled(tracing),
        enforcement);
  }

  /**
   * Returns a copy with another enforcement.
   *
   * @param mode the text of the mode
   * @throws Refusal INVALID of {@code policy-enforcement}
   */
  RuntimeOptions enforcing(String mode) {
    return new RuntimeOptions(
        endpoint, tracesPolicy, EnforcementMode.parse(POLICY_ENFORCEMENT, mode));
  }

  private static boolean isEnabled(String value) {
    if (MutableOption.ENABLED.equalsIgnoreCase(value)) {
      return true;
    }
    if (MutableOption.DISABLED.equalsIgnoreCase(value)) {
      return false;
    }
    throw Refusal.invalid(
        "options." + POLICY_TRACING, "'" + value + "' is neither Enabled nor Disabled");
  }

  /**
   * Returns a copy with the strictest value of what restricts traffic: policy is enforced always,
   * no packet passes for a test or with the source of another, and policy is asked for replies.
   */
  RuntimeOptions strictest() {
    return new RuntimeOptions(
        endpoint
            .with(MutableOption.POLICY_AUDIT_MODE, MutableOption.DISABLED)
            .with(MutableOption.SOURCE_IP_VERIFICATION, MutableOption.ENABLED)
            .with(MutableOption.CONNTRACK, MutableOption.DISABLED),
        tracesPolicy,
        EnforcementMode.ALWAYS);
  }

  /** Returns option name to value, without the enforcement; unmodifiable. */
  public Map<String, String> toMap() {
    final Map<String, String> map = new LinkedHashMap<>(endpoint.toMap());
    map.put(POLICY_TRACING, tracesPolicy ? MutableOption.ENABLED : MutableOption.DISABLED);
    return Collections.unmodifiableMap(map);
  }

  /** Returns every value by its name in the store. */
  Map<String, String> values() {
    final Map<String, String> values = new LinkedHashMap<>(toMap());
    values.put(POLICY_ENFORCEMENT, enforcement.text());
    return values;
  }

  /** Returns a copy with a value that the store holds. */
  RuntimeOptions restored(String name, String value) {
    return name.equals(POLICY_ENFORCEMENT) ? enforcing(value) : with(Map.of(name, value));
  }
}
