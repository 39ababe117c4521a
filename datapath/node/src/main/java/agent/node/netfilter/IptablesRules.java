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
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rules in a chain of the agent's own in the tables mangle and nat, to which a rule of POSTROUTING
 * jumps. A tool whose table is not used yet is not asked what is there: legacy iptables would
 * create the table.
 */
final class IptablesRules implements RuleTable {
  private static final String CHAIN = "AGENT-MASQUERADE";
  private static final String HOOK = "POSTROUTING -j " + CHAIN;

  /** The chain of mangle that counts the flows of each workload. */
  private static final String SHARE = CHAIN + "-SHARE";

  private static final String NAT = "nat";
  private static final String MANGLE = "mangle";

  /** Packets are dropped in mangle: nat takes no such rules. */
  private static final List<String> TABLES = List.of(MANGLE, NAT);

  /**
   * A rule of connlimit counts by one address alone. Each of so many counts the flows to a part of
   * all hosts, by the last bits of their addresses: a workload has its share for each part.
   */
  private static final int PARTS = 16;

  private static final Path PROC_NET = Path.of("/proc/thread-self/net");
  private static final String LOCK_SECONDS = "5";

  /**
   * The tool of each family, how titles of nftables begin for the tables that it uses, the file in
   * which legacy iptables lists its tables, and how the family writes what rules need.
   */
  private enum Family {
    IPV4("iptables", "ip ", "ip_tables_names", "icmp", 32, "0.0.0."),
    IPV6("ip6tables", "ip6 ", "ip6_tables_names", "ipv6-icmp", 128, "::");

    private final String tool;
    private final String title;
    private final String tables;
    private final String icmp;
    private final int bits;
    private final String low;

    Family(String tool, String title, String tables, String icmp, int bits, String low) {
      this.tool = tool;
      this.title = title;
      this.tables = tables;
      this.icmp = icmp;
      this.bits = bits;
      this.low = low;
    }

    static Family of(MasqueradedRange range) {
      return range.sources().isIpv4() ? IPV4 : IPV6;
    }
  }

  private static final int CALLS = 3;
  private static final Pattern DROPPED = Pattern.compile(" -c (\\d+) \\d+ -j DROP$");

  /** A table of a family. */
  private record Use(Family family, String table) {}

  private final NodeCommand command;
  private int readGeneration = -1;
  private int calls;
  private Refusals refused = Refusals.NONE;

  IptablesRules(NodeCommand command) {
    this.command = command;
  }

  @Override
  public Mode mode() {
    return Mode.IPTABLES;
  }

  @Override
  public void install(MasqueradeRules rules) {
    calls = 0;
    refused = Refusals.NONE;
    try {
      for (final MasqueradedRange range : rules.ranges()) {
        final Family family = Family.of(range);
        restore(
            family, text(range, rules, hooks(family, MANGLE).size(), hooks(family, NAT).size()));
      }
    } catch (OperationException failure) {
      remove(); // of the family that has them
      throw failure;
    }
  }

  /**
   * Returns what iptables-restore takes for one family.
   *
   * @param mangleHooks how many rules of mangle jump to the chain now
   * @param natHooks how many rules of nat do
   */
  static String text(MasqueradedRange range, MasqueradeRules rules, int mangleHooks, int natHooks) {
    final StringBuilder text = new StringBuilder();
    begin(text, MANGLE);
    leaveAlone(text, range);
    refuse(text, Family.of(range), rules.ports().share());
    end(text, rules, mangleHooks);
    begin(text, NAT);
    leaveAlone(text, range);
    for (final String protocol : List.of("tcp", "udp", "sctp")) {
      rule(text, "-p " + protocol + " -j MASQUERADE --to-ports " + rules.ports().range());
    }
    rule(text, "-j MASQUERADE");
    end(text, rules, natHooks);
    return text.toString();
  }

  /** Returns the agent's chains of a table. */
  private static List<String> chains(String table) {
    return table.equals(MANGLE) ? List.of(CHAIN, SHARE) : List.of(CHAIN);
  }

  /** Begins a table with its chains, which are empty then. */
  private static void begin(StringBuilder text, String table) {
    text.append('*').append(table).append('\n');
    chains(table).forEach(chain -> text.append(':').append(chain).append(" - [0:0]\n"));
  }

  private static void leaveAlone(StringBuilder text, MasqueradedRange range) {
    rule(text, "! -s " + range.sources() + " -j RETURN");
    range.own().forEach(own -> rule(text, "-s " + own + " -j RETURN"));
    range.excluded().forEach(to -> rule(text, "-d " + to + " -j RETURN"));
    rule(text, "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j RETURN");
  }

  /**
   * Drops flows beyond the share, and what a workload sends by a protocol without ports: its flow
   * would have the tuple of one of the node, and take that over. What the outside has opened is no
   * flow that is masqueraded.
   */
  private static void refuse(StringBuilder text, Family family, int share) {
    rule(text, "-m conntrack --ctdir REPLY -j RETURN");
    for (final String protocol : List.of("tcp", "udp", "sctp", family.icmp)) {
      rule(text, "-p " + protocol + " -g " + SHARE);
    }
    rule(text, "-m conntrack --ctdir ORIGINAL -j DROP");
    final String append = "-A " + SHARE + " ";
    text.append(append).append("-m conntrack ! --ctstate NEW -j RETURN\n");
    for (int part = 0; part < PARTS; part++) {
      text.append(append)
          .append("-d " + family.low + part(family, part) + "/" + family.low)
          .append(part(family, PARTS - 1) + " -m connlimit --connlimit-above " + share)
          .append(" --connlimit-mask " + family.bits + " --connlimit-saddr -j DROP\n");
    }
  }

  private static String part(Family family, int part) {
    return family == Family.IPV4 ? Integer.toString(part) : Integer.toHexString(part);
  }

  private static void end(StringBuilder text, MasqueradeRules rules, int hooks) {
    text.append(("-D " + HOOK + "\n").repeat(hooks))
        .append(rules.areFirst() ? "-I " : "-A ")
        .append(HOOK)
        .append("\nCOMMIT\n");
  }

  private static void rule(StringBuilder text, String rule) {
    text.append("-A ").append(CHAIN).append(' ').append(rule).append('\n');
  }

  private void restore(Family family, String text) {
    final NodeCommand.Result result =
        command.run(List.of(family.tool + "-restore", "-w", LOCK_SECONDS, "--noflush"), text);
    if (!result.succeeded()) {
      throw new OperationException(
          ("%s (%s-restore; CONFIG_NF_NAT, CONFIG_NETFILTER_XT_TARGET_MASQUERADE,"
                  + " CONFIG_NETFILTER_XT_MATCH_CONNLIMIT): %s")
              .formatted(family.tool, family.tool, result.reason()));
    }
  }

  /** Returns the rules of a chain as the tool prints them; none where there is no such chain. */
  private List<String> list(Family family, String table, String... chain) {
    final List<String> line =
        new ArrayList<>(List.of(family.tool, "-w", LOCK_SECONDS, "-t", table, "-S"));
    line.addAll(List.of(chain));
    final NodeCommand.Result result = command.run(line, "");
    return result.succeeded() ? result.output().lines().toList() : List.of();
  }

  private List<String> hooks(Family family, String table) {
    return list(family, table, "POSTROUTING").stream()
        .filter(line -> line.endsWith("-j " + CHAIN))
        .toList();
  }

  @Override
  public String read() {
    readGeneration = isLegacy() ? -1 : NftablesRules.generation();
    final List<String> lines = new ArrayList<>();
    for (final Use use : used()) {
      chains(use.table).forEach(chain -> lines.addAll(list(use.family, use.table, chain)));
      lines.addAll(hooks(use.family, use.table));
    }
    return String.join("\n", lines);
  }

  /** Legacy tables have no number of changes. */
  @Override
  public boolean mayHaveChanged() {
    return isLegacy() || NftablesRules.generation() != readGeneration;
  }

  /** Asks the tools, each of which is a process, at every third call. */
  @Override
  public Refusals refused() {
    if (calls++ % CALLS == 0) {
      long overShare = 0;
      long withoutPort = 0;
      for (final Use use : used()) {
        if (use.table.equals(MANGLE)) {
          overShare += dropped(use.family, SHARE);
          withoutPort += dropped(use.family, CHAIN);
        }
      }
      // less where a tool was not answered: rules count on until they are installed again
      refused =
          new Refusals(
              Math.max(overShare, refused.overShare()),
              Math.max(withoutPort, refused.withoutPort()));
    }
    return refused;
  }

  private long dropped(Family family, String chain) {
    return list(family, MANGLE, chain, "-v").stream()
        .map(DROPPED::matcher)
        .filter(Matcher::find)
        .mapToLong(matcher -> Long.parseLong(matcher.group(1)))
        .sum();
  }

  private static boolean isLegacy() {
    return Arrays.stream(Family.values()).anyMatch(family -> isLegacy(family, NAT));
  }

  /** Returns the tables of families that are there now. */
  private static List<Use> used() {
    final List<ChainMessage> chains = NftablesRules.chains();
    final List<Use> used = new ArrayList<>();
    for (final Family family : Family.values()) {
      for (final String table : TABLES) {
        final String title = family.title + table + " ";
        if (chains.stream().anyMatch(chain -> chain.title().startsWith(title))
            || isLegacy(family, table)) {
          used.add(new Use(family, table));
        }
      }
    }
    return used;
  }

  private static boolean isLegacy(Family family, String table) {
    try {
      return Files.readAllLines(PROC_NET.resolve(family.tables)).contains(table);
    } catch (NoSuchFileException absent) {
      return false; // the kernel lacks it
    } catch (IOException failure) {
      throw new OperationException(family.tables + ": " + IoFailure.reason(failure), failure);
    }
  }

  @Override
  public boolean isPresent() {
    return used().stream().anyMatch(use -> !list(use.family, use.table, CHAIN).isEmpty());
  }

  @Override
  public void remove() {
    for (final Use use : used()) {
      if (!list(use.family, use.table, CHAIN).isEmpty()) {
        final StringBuilder text = new StringBuilder();
        begin(text, use.table);
        text.append(("-D " + HOOK + "\n").repeat(hooks(use.family, use.table).size()));
        chains(use.table).forEach(chain -> text.append("-X ").append(chain).append('\n'));
        restore(use.family, text.append("COMMIT\n").toString());
      }
    }
  }
}
