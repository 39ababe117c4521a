package agent.endpoint;

import agent.terms.Refusal;
import java.util.Arrays;

/**
 * The mutable options (decisions.md, section 6), with the bits of {@code enum endpoint_option} in
 * {@code config/endpoint_config.h}.
 */
public enum EndpointOption {
  /** Connection tracking. */
  CONNTRACK("Conntrack", 1, true),
  /** Packet and byte counters in conntrack entries. */
  CONNTRACK_ACCOUNTING("ConntrackAccounting", 2, true),
  /** Debug events of the datapath. */
  DEBUG("Debug", 128, false),
  /** Debug events of load balancing; without a bit of its own. */
  DEBUG_LB("DebugLB", 0, false),
  /** Debug log of policy resolution; without a bit of its own. */
  DEBUG_POLICY("DebugPolicy", 0, false),
  /** An event for each dropped packet. */
  DROP_NOTIFICATION("DropNotification", 4, true),
  /** An event for forwarded packets, by {@link #MONITOR_AGGREGATION_LEVEL}. */
  TRACE_NOTIFICATION("TraceNotification", 8, true),
  /** An event for the verdict on each new flow. */
  POLICY_VERDICT_NOTIFICATION("PolicyVerdictNotification", 16, true),
  /** How many trace events are merged; a level instead of on and off. */
  MONITOR_AGGREGATION_LEVEL("MonitorAggregationLevel", 0, false),
  /** Policy drops are told and not done. */
  POLICY_AUDIT_MODE("PolicyAuditMode", 32, false),
  /** Packets from a workload must bear its own addresses. */
  SOURCE_IP_VERIFICATION("SourceIPVerification", 64, true);

  /** The values of a switch. */
  public static final String ENABLED = "Enabled";

  /** The values of a switch. */
  public static final String DISABLED = "Disabled";

  private final String optionName;
  private final int bit;
  private final boolean onByDefault;

  EndpointOption(String optionName, int bit, boolean onByDefault) {
    this.optionName = optionName;
    this.bit = bit;
    this.onByDefault = onByDefault;
  }

  /** The name of the contract. */
  public String optionName() {
    return optionName;
  }

  /** Its bit in the programs' configuration, 0 for none. */
  public int bit() {
    return bit;
  }

  /** Its value where nobody set one. */
  public String defaultValue() {
    if (this == MONITOR_AGGREGATION_LEVEL) {
      return AggregationLevel.NONE.text();
    }
    return onByDefault ? ENABLED : DISABLED;
  }

  /**
   * The option with this name.
   *
   * @param name the name of the contract
   * @return the option
   * @throws Refusal INVALID of {@code options.name}
   */
  public static EndpointOption named(String name) {
    return Arrays.stream(values())
        .filter(option -> option.optionName.equals(name))
        .findFirst()
        .orElseThrow(
            () -> Refusal.invalid("options." + name, "not a mutable option of an endpoint"));
  }

  /**
   * Checks a value.
   *
   * @param value the value
   * @return the value in the contract's spelling; case does not count in the request
   * @throws Refusal INVALID of {@code options.name}
   */
  public String check(String value) {
    if (this == MONITOR_AGGREGATION_LEVEL) {
      return AggregationLevel.parse("options." + optionName, value).text();
    }
    if (ENABLED.equalsIgnoreCase(value)) {
      return ENABLED;
    }
    if (DISABLED.equalsIgnoreCase(value)) {
      return DISABLED;
    }
    throw Refusal.invalid(
        "options." + optionName, "'" + value + "' is neither " + ENABLED + " nor " + DISABLED);
  }
}
