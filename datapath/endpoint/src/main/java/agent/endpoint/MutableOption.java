package agent.endpoint;

import agent.maps.layout.EndpointOption;
import agent.types.Refusal;
import java.util.Arrays;

/** The mutable options (decisions.md, section 6), with their bits in the programs' options. */
public enum MutableOption {
  /** Connection tracking. */
  CONNTRACK("Conntrack", EndpointOption.CONNTRACK, true),
  /** Packet and byte counters in conntrack entries. */
  CONNTRACK_ACCOUNTING("ConntrackAccounting", EndpointOption.CONNTRACK_ACCOUNTING, true),
  /** Debug events of the datapath. */
  DEBUG("Debug", EndpointOption.DEBUG, false),
  /** Debug events of load balancing; without a bit of its own. */
  DEBUG_LB("DebugLB", null, false),
  /** Debug log of policy resolution; without a bit of its own. */
  DEBUG_POLICY("DebugPolicy", null, false),
  /** An event for each dropped packet. */
  DROP_NOTIFICATION("DropNotification", EndpointOption.DROP_NOTIFICATION, true),
  /** An event for forwarded packets, by {@link #MONITOR_AGGREGATION_LEVEL}. */
  TRACE_NOTIFICATION("TraceNotification", EndpointOption.TRACE_NOTIFICATION, true),
  /** An event for the verdict on each new flow. */
  POLICY_VERDICT_NOTIFICATION(
      "PolicyVerdictNotification", EndpointOption.POLICY_VERDICT_NOTIFICATION, true),
  /** How many trace events are merged; a level instead of on and off. */
  MONITOR_AGGREGATION_LEVEL("MonitorAggregationLevel", null, false),
  /** Policy drops are told and not done. */
  POLICY_AUDIT_MODE("PolicyAuditMode", EndpointOption.POLICY_AUDIT_MODE, false),
  /** Packets from a workload must bear its own addresses. */
  SOURCE_IP_VERIFICATION("SourceIPVerification", EndpointOption.SOURCE_IP_VERIFICATION, true);

  /** The values of a switch. */
  public static final String ENABLED = "Enabled";

  /** The values of a switch. */
  public static final String DISABLED = "Disabled";

  private final String optionName;
  private final EndpointOption bit;
  private final boolean onByDefault;

  MutableOption(String optionName, EndpointOption bit, boolean onByDefault) {
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
    return bit == null ? 0 : bit.number();
  }

  /** Its value where nobody set one. */
  public String defaultValue() {
    if (this == MONITOR_AGGREGATION_LEVEL) {
      return MonitorAggregation.NONE.text();
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
  public static MutableOption named(String name) {
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
