package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import java.util.Optional;

/**
 * A routing rule in RTM_NEWRULE messages ({@code struct fib_rule_hdr} and FRA_* of {@code
 * linux/fib_rules.h}).
 *
 * @param ipv4 true for IPv4, false for IPv6
 * @param priority the lowest is asked first
 * @param table the routing table that it chooses
 * @param isPlain whether it chooses the table for every packet
 */
public record RuleMessage(boolean ipv4, int priority, int table, boolean isPlain) {
  private static final int RTM_NEWRULE = 32;
  private static final int RTM_GETRULE = 34;

  // struct fib_rule_hdr: family, destination length, source length, tos, table, reserved 2, action:
  // 1 each, flags 4
  private static final int FAMILY_OFFSET = 0;
  private static final int DESTINATION_LENGTH_OFFSET = 1;
  private static final int SOURCE_LENGTH_OFFSET = 2;
  private static final int TOS_OFFSET = 3;
  private static final int TABLE_OFFSET = 4;
  private static final int ACTION_OFFSET = 7;
  private static final int FLAGS_OFFSET = 8;
  private static final int HEADER_LENGTH = 12;

  private static final int FR_ACT_TO_TBL = 1;
  private static final int FRA_PRIORITY = 6;
  private static final int FRA_SUPPRESS_PREFIXLEN = 14;
  private static final int FRA_TABLE = 15;
  private static final int FRA_PROTOCOL = 21;
  private static final int TABLE_DEFAULT = 253;
  private static final int MAIN_PRIORITY = 32_766;
  private static final int NOTHING_SUPPRESSED = -1;

  static NetlinkRequest list(boolean ipv4) {
    final String operation = (ipv4 ? "IPv4" : "IPv6") + " rules: list";
    return new NetlinkRequest(operation, RTM_GETRULE, NetlinkRequest.NLM_F_DUMP)
        .putByte(ipv4 ? AttributeValues.AF_INET : AttributeValues.AF_INET6)
        .putByte(0)
        .putShort(0)
        .putInt(0)
        .putInt(0);
  }

  /**
   * Decodes an answer.
   *
   * @return the rule, or empty for a message of another type or family
   * @throws agent.bindings.net.NetlinkException where the message is malformed
   */
  static Optional<RuleMessage> decode(NetlinkMessageFlyweight message) {
    final int family = message.getByte(FAMILY_OFFSET);
    if (message.type() != RTM_NEWRULE || !AttributeValues.isIp(family)) {
      return Optional.empty();
    }
    boolean isPlain =
        message.getByte(DESTINATION_LENGTH_OFFSET) == 0
            && message.getByte(SOURCE_LENGTH_OFFSET) == 0
            && message.getByte(TOS_OFFSET) == 0
            && message.getByte(ACTION_OFFSET) == FR_ACT_TO_TBL
            && message.getInt(FLAGS_OFFSET) == 0;
    int priority = 0;
    int table = message.getByte(TABLE_OFFSET);
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    while (attributes.next()) {
      switch (attributes.type()) {
        case FRA_PRIORITY -> priority = attributes.getInt();
        case FRA_TABLE -> table = attributes.getInt();
        case FRA_SUPPRESS_PREFIXLEN -> isPlain &= attributes.getInt() == NOTHING_SUPPRESSED;
        case FRA_PROTOCOL -> {}
        default -> isPlain = false; // what it selects packets by
      }
    }
    return Optional.of(
        new RuleMessage(family == AttributeValues.AF_INET, priority, table, isPlain));
  }

  /** Returns whether the kernel has added the rule itself ({@code fib_default_rules_init}). */
  public boolean isDefault() {
    return isPlain
        && (priority == 0 && table == RouteMessage.TABLE_LOCAL
            || priority == MAIN_PRIORITY && table == RouteMessage.TABLE_MAIN
            || priority == MAIN_PRIORITY + 1 && table == TABLE_DEFAULT);
  }
}
