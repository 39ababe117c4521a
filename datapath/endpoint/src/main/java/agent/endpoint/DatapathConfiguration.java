package agent.endpoint;

/**
 * How an endpoint is wired, as its creator asked; null where nothing was asked.
 *
 * @param disableSourceVerification source address verification off
 * @param externalIpam its addresses are not the agent's to allocate or release
 * @param installEndpointRoute whether the stack gets a route to it; yes unless refused
 * @param requireArpPassthrough ARP is left to the workload's peer
 * @param requireEgressProgram a program toward the workload is needed; there always is one
 * @param requireRouting routing by BPF needed; it is always done by BPF
 */
public record DatapathConfiguration(
    Boolean disableSourceVerification,
    Boolean externalIpam,
    Boolean installEndpointRoute,
    Boolean requireArpPassthrough,
    Boolean requireEgressProgram,
    Boolean requireRouting) {
  /** Nothing asked. */
  public static final DatapathConfiguration DEFAULT =
      new DatapathConfiguration(null, null, null, null, null, null);

  /** Whether its addresses are somebody else's to manage. */
  public boolean addressesAreExternal() {
    return Boolean.TRUE.equals(externalIpam);
  }

  /** Whether the stack gets a route. */
  public boolean routed() {
    return !Boolean.FALSE.equals(installEndpointRoute);
  }

  /** Whether ARP passes. */
  public boolean arpPassthrough() {
    return Boolean.TRUE.equals(requireArpPassthrough);
  }
}
