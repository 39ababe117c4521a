package agent.endpoint.state;

/**
 * The datapath options of an endpoint from the request; null where the request does not name one.
 *
 * @param disableSourceVerification whether source address verification is disabled
 * @param externalIpam whether another program allocates and releases its addresses
 * @param installEndpointRoute whether the agent adds a route to it; true by default
 * @param requireArpPassthrough whether ARP requests for other addresses than the gateway pass to
 *     the node instead of being dropped
 * @param requireEgressProgram true or absent: a program toward the workload is always attached
 * @param requireRouting absent in requests: the node decides; a record of an earlier release may
 *     have it
 */
public record DatapathConfiguration(
    Boolean disableSourceVerification,
    Boolean externalIpam,
    Boolean installEndpointRoute,
    Boolean requireArpPassthrough,
    Boolean requireEgressProgram,
    Boolean requireRouting) {
  /** The options of a request that names none. */
  public static final DatapathConfiguration DEFAULT =
      new DatapathConfiguration(null, null, null, null, null, null);

  /** Returns whether another program manages its addresses. */
  public boolean addressesAreExternal() {
    return Boolean.TRUE.equals(externalIpam);
  }

  /** Returns whether the agent adds a route to it. */
  public boolean routed() {
    return !Boolean.FALSE.equals(installEndpointRoute);
  }

  /** Returns whether ARP requests for other addresses than the gateway pass to the node. */
  public boolean arpPassthrough() {
    return Boolean.TRUE.equals(requireArpPassthrough);
  }
}
