package agent.node;

/**
 * The daemon's options of this node, with the names and values of the contract.
 *
 * @param enableIpv4 {@code --enable-ipv4}
 * @param enableIpv6 {@code --enable-ipv6}
 * @param ipv4Node {@code --ipv4-node}: an address, or {@code auto}
 * @param ipv6Node {@code --ipv6-node}: an address, or {@code auto}
 * @param ipv4Range {@code --ipv4-range}: a prefix, or {@code auto}
 * @param ipv6Range {@code --ipv6-range}: a /96, or {@code auto}
 * @param ipv6ClusterAllocCidr {@code --ipv6-cluster-alloc-cidr}: a /64
 * @param device {@code --device}: a {@link DeviceSelection}; the addresses of its first name are
 *     preferred
 */
public record NodeOptions(
    boolean enableIpv4,
    boolean enableIpv6,
    String ipv4Node,
    String ipv6Node,
    String ipv4Range,
    String ipv6Range,
    String ipv6ClusterAllocCidr,
    String device) {
  /** The value that lets the agent choose. */
  public static final String AUTO = "auto";

  /** The value of a device option that names no device. */
  public static final String UNDEFINED = "undefined";

  /** The defaults of the contract. */
  public static final NodeOptions DEFAULTS =
      new NodeOptions(true, true, AUTO, AUTO, AUTO, AUTO, "f00d::/64", UNDEFINED);
}
