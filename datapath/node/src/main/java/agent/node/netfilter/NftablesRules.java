package agent.node.netfilter;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.NetlinkException;
import agent.node.netfilter.MasqueradeGuard.Mode;
import agent.node.netlink.ChainMessage;
import agent.node.netlink.NetfilterNetlink;
import agent.types.OperationException;
import java.util.List;

/** Rules in a table of nftables that is the agent's alone, replaced in one transaction. */
public final class NftablesRules implements RuleTable {
  private static final String TABLE = "agent_masquerade";
  private static final int BEFORE_OTHERS = 90;
  private static final int AFTER_OTHERS = 110;

  /**
   * How many flows each workload has to a port of a host. Where there are more than the set holds,
   * the kernel removes those of which all flows have ended, and counts no others.
   */
  private static final String COUNTS =
      """
      \tset flows%1$s {
      \t\ttype ipv%1$s_addr . ipv%1$s_addr . inet_service;
      \t\tflags dynamic;
      \t\tsize 65535;
      \t}
      """;

  private static final String PORTS = "meta l4proto { tcp, udp } ";

  private final NodeCommand command;
  private int readGeneration = -1;

  NftablesRules(NodeCommand command) {
    this.command = command;
  }

  /** Returns whether a chain is of the agent. */
  public static boolean isOwn(ChainMessage chain) {
    return chain.title().startsWith("inet " + TABLE + " ");
  }

  @Override
  public Mode mode() {
    return Mode.NFTABLES;
  }

  /** Returns a transaction that leaves these rules alone in the table. */
  static String text(MasqueradeRules rules) {
    final MasqueradePorts ports = rules.ports();
    final StringBuilder text = new StringBuilder(removal());
    text.append("table inet ").append(TABLE).append(" {\n");
    for (final MasqueradedRange range : rules.ranges()) {
      text.append(COUNTS.formatted(version(range)));
    }
    text.append("\tchain postrouting {\n");
    text.append("\t\ttype nat hook postrouting priority ")
        .append(rules.areFirst() ? BEFORE_OTHERS : AFTER_OTHERS)
        .append("; policy accept;\n");
    for (final MasqueradedRange range : rules.ranges()) {
      final String family = range.sources().isIpv4() ? "ip" : "ip6";
      final String from = "\t\t" + family + " saddr " + range.sources() + " ";
      range.own().forEach(own -> rule(text, "\t\t" + family + " saddr " + own + " return"));
      range.excluded().forEach(to -> rule(text, from + family + " daddr " + to + " return"));
      rule(text, from + "tcp flags & (fin | syn | rst | ack) != syn return");
      rule(
          text,
          from
              + PORTS
              + "add @flows%d { %s saddr . %s daddr . th dport ct count over %d } counter drop"
                  .formatted(version(range), family, family, ports.share()));
      rule(text, from + PORTS + "masquerade to :" + ports.range());
      rule(text, from + "masquerade");
    }
    return text.append("\t}\n}\n").toString();
  }

  private static int version(MasqueradedRange range) {
    return range.sources().isIpv4() ? 4 : 6;
  }

  private static void rule(StringBuilder text, String rule) {
    text.append(rule).append('\n');
  }

  /** Returns commands that remove the table, whether it is there or not. */
  private static String removal() {
    return "add table inet %s%ndelete table inet %s%n".formatted(TABLE, TABLE);
  }

  @Override
  public void install(MasqueradeRules rules) {
    change(text(rules));
  }

  private void change(String text) {
    final NodeCommand.Result result = command.run(List.of("nft", "-f", "-"), text);
    if (!result.succeeded()) {
      throw new OperationException(
          "nftables (nft; CONFIG_NF_TABLES_INET, CONFIG_NFT_MASQ, CONFIG_NFT_CONNLIMIT): "
              + result.reason());
    }
  }

  @Override
  public String read() {
    readGeneration = generation();
    final NodeCommand.Result result =
        command.run(List.of("nft", "-s", "-t", "-n", "list", "table", "inet", TABLE), "");
    if (result.succeeded()) {
      return result.output();
    }
    if (isPresent()) {
      throw new OperationException("nftables: " + result.reason());
    }
    return "";
  }

  @Override
  public boolean mayHaveChanged() {
    return generation() != readGeneration;
  }

  /** Returns the number that the kernel gives to the changes of all its tables. */
  static int generation() {
    try (NetfilterNetlink netfilter = NetfilterNetlink.open()) {
      return netfilter.generation();
    } catch (BindingsException failure) {
      throw new OperationException("nftables: " + failure.getMessage(), failure);
    }
  }

  @Override
  public boolean isPresent() {
    return chains().stream().anyMatch(NftablesRules::isOwn);
  }

  /** Returns the chains of all that are attached to a hook; none where the kernel has no tables. */
  static List<ChainMessage> chains() {
    try (NetfilterNetlink netfilter = NetfilterNetlink.open()) {
      return netfilter.baseChains();
    } catch (BindingsException failure) {
      if (failure instanceof NetlinkException refused
          && (refused.errno() == Errno.EPROTONOSUPPORT || refused.errno() == Errno.EINVAL)) {
        return List.of();
      }
      throw new OperationException("nftables: " + failure.getMessage(), failure);
    }
  }

  @Override
  public void remove() {
    change(removal());
  }
}
