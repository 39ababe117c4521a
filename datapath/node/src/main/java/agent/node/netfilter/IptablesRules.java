package agent.node.netfilter;

import agent.node.netfilter.MasqueradeGuard.Mode;
import agent.node.netlink.ChainMessage;
import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Rules in a chain of the agent's own, to which a rule of POSTROUTING in table nat jumps. A tool
 * whose table is not used yet is not asked what is there: legacy iptables would create the table.
 */
final class IptablesRules implements RuleTable {
  private static final String CHAIN = "AGENT-MASQUERADE";
  private static final String HOOK = "POSTROUTING -j " + CHAIN;
  private static final String TABLE = "nat";
  private static final Path PROC_NET = Path.of("/proc/thread-self/net");
  private static final String LOCK_SECONDS = "5";

  /**
   * The tool of each family, the table of nftables that it uses, and the file in which legacy
   * iptables lists its tables.
   */
  private enum Family {
    IPV4("iptables", "ip nat ", "ip_tables_names"),
    IPV6("ip6tables", "ip6 nat ", "ip6_tables_names");

    private final String tool;
    private final String table;
    private final String tables;

    Family(String tool, String table, String tables) {
      this.tool = tool;
      this.table = table;
      this.tables = tables;
    }

    static Family of(MasqueradedRange range) {
      return range.sources().isIpv4() ? IPV4 : IPV6;
    }
  }

  private final NodeCommand command;
  private int readGeneration = -1;

  IptablesRules(NodeCommand command) {
    this.command = command;
  }

  @Override
  public Mode mode() {
    return Mode.IPTABLES;
  }

  @Override
  public void install(MasqueradeRules rules) {
    try {
      for (final MasqueradedRange range : rules.ranges()) {
        final Family family = Family.of(range);
        restore(family, text(range, rules, hooks(family).size()));
      }
    } catch (OperationException failure) {
      remove(); // of the family that has them
      throw failure;
    }
  }

  /**
   * Returns what iptables-restore takes for one family.
   *
   * @param hooks how many rules jump to the chain now
   */
  static String text(MasqueradedRange range, MasqueradeRules rules, int hooks) {
    final StringBuilder text = new StringBuilder("*nat\n:" + CHAIN + " - [0:0]\n");
    rule(text, "! -s " + range.sources() + " -j RETURN");
    range.own().forEach(own -> rule(text, "-s " + own + " -j RETURN"));
    range.excluded().forEach(to -> rule(text, "-d " + to + " -j RETURN"));
    rule(text, "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j RETURN");
    for (final String protocol : List.of("tcp", "udp")) {
      rule(text, "-p " + protocol + " -j MASQUERADE --to-ports " + rules.ports().range());
    }
    rule(text, "-j MASQUERADE");
    text.append(("-D " + HOOK + "\n").repeat(hooks));
    return text.append(rules.areFirst() ? "-I " : "-A ")
        .append(HOOK)
        .append("\nCOMMIT\n")
        .toString();
  }

  private static void rule(StringBuilder text, String rule) {
    text.append("-A ").append(CHAIN).append(' ').append(rule).append('\n');
  }

  private void restore(Family family, String text) {
    final NodeCommand.Result result =
        command.run(List.of(family.tool + "-restore", "-w", LOCK_SECONDS, "--noflush"), text);
    if (!result.succeeded()) {
      throw new OperationException(
          "%s (%s-restore; CONFIG_NF_NAT, CONFIG_NETFILTER_XT_TARGET_MASQUERADE): %s"
              .formatted(family.tool, family.tool, result.reason()));
    }
  }

  /** Returns the rules of a chain as the tool prints them; none where there is no such chain. */
  private List<String> list(Family family, String chain) {
    final NodeCommand.Result result =
        command.run(List.of(family.tool, "-w", LOCK_SECONDS, "-t", TABLE, "-S", chain), "");
    return result.succeeded() ? result.output().lines().toList() : List.of();
  }

  private List<String> hooks(Family family) {
    return list(family, "POSTROUTING").stream()
        .filter(line -> line.endsWith("-j " + CHAIN))
        .toList();
  }

  @Override
  public String read() {
    readGeneration = isLegacy() ? -1 : NftablesRules.generation();
    final List<String> lines = new ArrayList<>();
    for (final Family family : used()) {
      lines.addAll(list(family, CHAIN));
      lines.addAll(hooks(family));
    }
    return String.join("\n", lines);
  }

  /** Legacy tables have no number of changes. */
  @Override
  public boolean mayHaveChanged() {
    return isLegacy() || NftablesRules.generation() != readGeneration;
  }

  private static boolean isLegacy() {
    return Arrays.stream(Family.values()).anyMatch(IptablesRules::isLegacy);
  }

  /** Returns the families that have a table for translation now. */
  private static List<Family> used() {
    final List<ChainMessage> chains = NftablesRules.chains();
    return Arrays.stream(Family.values())
        .filter(
            family ->
                chains.stream().anyMatch(chain -> chain.title().startsWith(family.table))
                    || isLegacy(family))
        .toList();
  }

  private static boolean isLegacy(Family family) {
    try {
      return Files.readAllLines(PROC_NET.resolve(family.tables)).contains(TABLE);
    } catch (NoSuchFileException absent) {
      return false; // the kernel lacks it
    } catch (IOException failure) {
      throw new OperationException(family.tables + ": " + IoFailure.reason(failure), failure);
    }
  }

  @Override
  public boolean isPresent() {
    return used().stream().anyMatch(family -> !list(family, CHAIN).isEmpty());
  }

  @Override
  public void remove() {
    for (final Family family : used()) {
      if (!list(family, CHAIN).isEmpty()) {
        final String hooks = ("-D " + HOOK + "\n").repeat(hooks(family).size());
        restore(family, "*nat\n" + hooks + "-F " + CHAIN + "\n-X " + CHAIN + "\nCOMMIT\n");
      }
    }
  }
}
