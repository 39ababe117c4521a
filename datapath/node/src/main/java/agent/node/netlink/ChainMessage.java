package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import java.util.Map;
import java.util.Optional;

/**
 * An nftables chain that is attached to a hook, in NFT_MSG_NEWCHAIN messages (NFTA_CHAIN_* of
 * {@code linux/netfilter/nf_tables.h}). Numbers are in network byte order there.
 *
 * @param family NFPROTO_*
 * @param table the name of its table
 * @param name its name
 * @param hook NF_INET_* or NF_NETDEV_*
 * @param isAccepting whether it accepts packets that no rule decides on
 * @param uses the number of its rules and of jumps to it
 */
public record ChainMessage(
    int family, String table, String name, int hook, boolean isAccepting, int uses) {
  // linux/netfilter.h
  private static final int NFPROTO_INET = 1;
  private static final int NFPROTO_IPV4 = 2;
  private static final int NFPROTO_NETDEV = 5;
  private static final int NFPROTO_IPV6 = 10;
  private static final int NF_INET_LOCAL_IN = 1;
  private static final int NF_INET_LOCAL_OUT = 3;
  private static final int NF_ACCEPT = 1;

  private static final int NFT_MSG_NEWCHAIN = 3;
  private static final int NFT_MSG_GETCHAIN = 4;
  private static final int NFTA_CHAIN_TABLE = 1;
  private static final int NFTA_CHAIN_NAME = 3;
  private static final int NFTA_CHAIN_HOOK = 4;
  private static final int NFTA_CHAIN_POLICY = 5;
  private static final int NFTA_CHAIN_USE = 6;
  private static final int NFTA_HOOK_HOOKNUM = 1;

  /** struct nfgenmsg: family 1, version 1, resource id 2. */
  static final int HEADER_LENGTH = 4;

  private static final Map<Integer, String> FAMILIES =
      Map.of(
          NFPROTO_INET, "inet", NFPROTO_IPV4, "ip", NFPROTO_NETDEV, "netdev", NFPROTO_IPV6, "ip6");

  static NetlinkRequest list() {
    return NetfilterNetlink.request(
        "nftables chains: list", NFT_MSG_GETCHAIN, NetlinkRequest.NLM_F_DUMP);
  }

  /**
   * Decodes an answer.
   *
   * @return the chain, or empty for one without a hook and for a message of another type
   * @throws agent.bindings.net.NetlinkException where the message is malformed
   */
  static Optional<ChainMessage> decode(NetlinkMessageFlyweight message) {
    if (message.type() != NetfilterNetlink.messageType(NFT_MSG_NEWCHAIN)) {
      return Optional.empty();
    }
    String table = "";
    String name = "";
    int hook = -1;
    boolean isAccepting = true;
    int uses = 0;
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    while (attributes.next()) {
      switch (attributes.type()) {
        case NFTA_CHAIN_TABLE -> table = attributes.getText();
        case NFTA_CHAIN_NAME -> name = attributes.getText();
        case NFTA_CHAIN_HOOK -> hook = hookOf(attributes.nested());
        case NFTA_CHAIN_POLICY -> isAccepting = attributes.getIntBe() == NF_ACCEPT;
        case NFTA_CHAIN_USE -> uses = attributes.getIntBe();
        default -> {}
      }
    }
    return hook < 0
        ? Optional.empty()
        : Optional.of(new ChainMessage(message.getByte(0), table, name, hook, isAccepting, uses));
  }

  private static int hookOf(NetlinkAttributeFlyweight hook) {
    while (hook.next()) {
      if (hook.type() == NFTA_HOOK_HOOKNUM) {
        return hook.getIntBe();
      }
    }
    return -1;
  }

  /**
   * Returns whether forwarded packets meet the chain and it may change or drop them: it has rules,
   * or drops what it has none for. Chains of a bridge or of ARP meet no routed packets.
   */
  public boolean concernsForwarding() {
    final boolean isEmpty = isAccepting && uses == 0;
    return !isEmpty
        && switch (family) {
          case NFPROTO_INET, NFPROTO_IPV4, NFPROTO_IPV6 ->
              hook != NF_INET_LOCAL_IN && hook != NF_INET_LOCAL_OUT;
          case NFPROTO_NETDEV -> true;
          default -> false;
        };
  }

  /** Returns how nft names it, such as {@code inet filter forward}. */
  public String title() {
    return FAMILIES.getOrDefault(family, "family " + family) + " " + table + " " + name;
  }
}
