package agent.node.netfilter;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.node.netfilter.MasqueradeGuard.Mode;
import agent.node.netlink.ChainMessage;
import agent.node.netlink.CounterMessage;
import agent.node.netlink.NetfilterNetlink;
import agent.types.OperationException;
import java.util.List;

/** Rules in a table of nftables that is the agent's alone, replaced in one transaction. */
public final class NftablesRules implements RuleTable {
  private static final String TABLE = "agent_masquerade";
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
    return removal() + NftablesText.of(rules, TABLE);
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
          "nftables (nft; CONFIG_NF_TABLES_INET, CONFIG_NFT_MASQ, CONFIG_NFT_CONNLIMIT,"
              + " CONFIG_NFT_FIB_INET, CONFIG_NF_CONNTRACK_ZONES): "
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
  public Refusals refused() {
    try (NetfilterNetlink netfilter = NetfilterNetlink.open()) {
      final List<CounterMessage> counters = netfilter.counters();
      return new Refusals(
          packets(counters, NftablesText.OVER_SHARE), packets(counters, NftablesText.WITHOUT_PORT));
    } catch (BindingsException failure) {
      throw new OperationException("nftables: " + failure.getMessage(), failure);
    }
  }

  private static long packets(List<CounterMessage> counters, String name) {
    return counters.stream()
        .filter(counter -> counter.table().equals(TABLE) && counter.name().equals(name))
        .mapToLong(CounterMessage::packets)
        .sum();
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
