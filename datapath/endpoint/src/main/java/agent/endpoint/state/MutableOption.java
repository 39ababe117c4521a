package agent.endpoint.state;

import agent.maps.layout.EndpointOption;
import agent.types.Refusal;
import java.util.List;

/**
 * The mutable options (decisions.md, section 6) with their bits in {@code endpoint_config.options}.
 */
public enum MutableOption {
  /** Connection tracking. */
  CONNTRACK("Conntrack", EndpointOption.CONNTRACK, true),
  /** Packet and byte counters in conntrack entries. */
  CONNTRACK_ACCOUNTING("ConntrackAccounting", EndpointOption.CONNTRACK_ACCOUNTING, true),
  /** All events of the endpoint and of each packet, whatever the other options say; no own bit. */
  DEBUG("Debug", null, false),
  /** The backends and masqueraded sources of new flows in the log of the agent; it has no bit. */
  DEBUG_LB("DebugLB", null, false),
  /** The reasons of the policy of the endpoint in the log of the agent; it has no bit. */
  DEBUG_POLICY("DebugPolicy", null, false),
  /** An event for each dropped packet. */
  DROP_NOTIFICATION("DropNotification", EndpointOption.DROP_NOTIFICATION, true),
  /** An event for forwarded packets, by {@link #MONITOR_AGGREGATION_LEVEL}. */
  TRACE_NOTIFICATION("TraceNotification", EndpointOption.TRACE_NOTIFICATION, true),
  /** An event for the verdict on each new flow. */
  POLICY_VERDICT_NOTIFICATION(
      "PolicyVerdictNotification", EndpointOption.POLICY_VERDICT_NOTIFICATION, true),
  /** The aggregation of trace events: a level instead of a boolean. */
  MONITOR_AGGREGATION_LEVEL("MonitorAggregationLevel", null, false),
  /** Reports policy drops but forwards the packets. */
  POLICY_AUDIT_MODE("PolicyAuditMode", EndpointOption.POLICY_AUDIT_MODE, false),
  /** Packets from a workload must have one of its addresses as source. */
  SOURCE_IP_VERIFICATION("SourceIPVerification", EndpointOption.SOURCE_IP_VERIFICATION, true);

  /** The value of an enabled option. */
  public static final String ENABLED = "Enabled";

  /** The value of a disabled option. */
  public static final String DISABLED = "Disabled";

  private static final List<MutableOption> ALL = List.of(values());

  private final String optionName;
  private final EndpointOption bit;
  private final boolean onByDefault;

  MutableOption(String optionName, EndpointOption bit, boolean onByDefault) {
    this.optionName = optionName;
    this.bit = bit;
    this.onByDefault = onByDefault;
  }

  /** Returns the name of the contract. */
  public String optionName() {
    return optionName;
  }

  /** Returns the bit in {@code endpoint_config.options}, 0 for none. */
  public int bit() {
    return bit == null ? 0 : bit.number();
  }

  /** Returns the default value. */
  public String defaultValue() {
    if (this == MONITOR_AGGREGATION_LEVEL) {
      return MonitorAggregation.NONE.text();
    }
    return onByDefault ? ENABLED : DISABLED;
  }

  /**
   * Returns the option with this name.
   *
   * @param name the name of the contract
   * @return the option
   * @throws Refusal INVALID of {@code options.name}
   */
  public static MutableOption named(String name) {
    for (final MutableOption option : ALL) {
      if (option.optionName.equals(name)) {
        return option;
      }
    }
    throw Refusal.invalid("options." + name, "is not a mutable endpoint option");
  }

  /**
   * Checks a value.
   *
   * @param value the value
   * @return the value in the contract's spelling; the request is case-insensitive
   * @throws Refusal INVALID of {@code options.name}
   */
  public String check(String value) {
    if (this == MONITOR_AGGREGATION_LEVEL) {
      return MonitorAggregation.parse("options." + optionName, value).text();
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
