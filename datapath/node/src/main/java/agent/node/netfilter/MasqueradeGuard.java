package agent.node.netfilter;

import agent.types.Leftover;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Keeps the rules by which the stack masquerades what workloads send, while they are wanted, and
 * removes them while they are not. {@link #keep} is for one thread, in the network namespace of the
 * node, which may wait for programs of the node; {@link #mode} and {@link #refused} are for any
 * thread.
 */
public final class MasqueradeGuard {
  private static final Logger LOGGER = LogManager.getLogger(MasqueradeGuard.class);

  /** What masquerades; {@link #text} is the value of {@code masquerading.mode}. */
  public enum Mode {
    /** The programs of workloads. */
    BPF("BPF"),
    /** Rules of nftables. */
    NFTABLES("nftables"),
    /** Rules of iptables. */
    IPTABLES("iptables"),
    /** Nothing. */
    DISABLED("Disabled");

    private final String text;

    Mode(String text) {
      this.text = text;
    }

    /** Returns the value in the contract. */
    public String text() {
      return text;
    }
  }

  /** Learns how the rules are; on the thread of {@link #keep}. */
  public interface Observer {
    /** The rules differed from those that are wanted, and were installed again. */
    void repaired(String found);

    /** The rules cannot be installed, read or removed. */
    void failed(String reason);

    /** The rules are as they are wanted, or none are wanted and none are there. */
    void inOrder();
  }

  private final MasqueradeRules rules;
  private final BooleanSupplier isWanted;
  private final List<RuleTable> tables;
  private RuleTable installed;
  private String expected = "";
  private boolean isRemoved;
  private volatile Mode mode = Mode.DISABLED;
  private Refusals counted = Refusals.NONE;
  private volatile Refusals refused = Refusals.NONE;

  /**
   * Creates a guard that has done nothing yet.
   *
   * @param rules the rules
   * @param isWanted asked in each {@link #keep} whether the stack has to masquerade
   * @param command runs the tools
   */
  public MasqueradeGuard(MasqueradeRules rules, BooleanSupplier isWanted, NodeCommand command) {
    this(rules, isWanted, tables(command));
  }

  MasqueradeGuard(MasqueradeRules rules, BooleanSupplier isWanted, List<RuleTable> tables) {
    this.rules = rules;
    this.isWanted = isWanted;
    this.tables = tables;
  }

  /** The first one that the node has is used. */
  private static List<RuleTable> tables(NodeCommand command) {
    return List.of(new NftablesRules(command), new IptablesRules(command));
  }

  /** Returns what rules of agents are in this network namespace. */
  public static List<Leftover> leftovers(NodeCommand command) {
    return tables(command).stream()
        .filter(RuleTable::isPresent)
        .map(table -> new Leftover("masquerading rules of " + table.mode().text(), table::remove))
        .toList();
  }

  /** Returns by what rules the stack masquerades now. */
  public Mode mode() {
    return mode;
  }

  /** Returns what the rules have dropped since this object was created. */
  public Refusals refused() {
    return refused;
  }

  /** Reads what the rules have dropped. */
  private void count() {
    final Refusals now = installed.refused();
    refused = refused.plus(now, counted);
    counted = now;
  }

  /**
   * Compares the rules with those that are wanted, and repairs them.
   *
   * @param observer learns how they are
   * @throws OperationException where they cannot be installed, read or removed; the next call tries
   *     again
   */
  public void keep(Observer observer) {
    try {
      if (isWanted.getAsBoolean()) {
        hold(observer);
      } else {
        release();
        observer.inOrder();
      }
    } catch (OperationException failure) {
      installed = null;
      mode = Mode.DISABLED;
      observer.failed(failure.getMessage());
      throw failure;
    }
  }

  private void hold(Observer observer) {
    isRemoved = false;
    if (installed == null) {
      install();
      LOGGER.info("masquerading: {} rules installed", mode.text());
    } else if (installed.mayHaveChanged()) {
      final String found = installed.read();
      if (!found.equals(expected)) {
        observer.repaired(repair(found.isEmpty() ? "removed" : "changed"));
        return; // the fault stays until the next call finds the rules in order
      }
    }
    count();
    observer.inOrder();
  }

  private String repair(String what) {
    final String found = mode.text() + " rules were " + what + ", installed again";
    LOGGER.warn("masquerading: {}", found);
    mode = Mode.DISABLED;
    install();
    return found;
  }

  /** Installs the rules by the first tool that can, and removes those of the others. */
  private void install() {
    final List<String> reasons = new ArrayList<>();
    for (final RuleTable table : tables) {
      try {
        table.install(rules);
        expected = installed(table);
        installed = table;
        mode = table.mode();
        counted = Refusals.NONE;
        removeAllBut(table);
        return;
      } catch (OperationException failure) {
        reasons.add(failure.getMessage());
      }
    }
    throw new OperationException(
        "masquerading by netfilter rules failed: " + String.join("; ", reasons));
  }

  /** Reads what was installed, which has to masquerade every range. */
  private String installed(RuleTable table) {
    final String text = table.read();
    final long masquerading =
        text.lines().filter(line -> line.toLowerCase(Locale.ROOT).endsWith(" masquerade")).count();
    if (masquerading < rules.ranges().size()) {
      throw new OperationException(table.mode().text() + ": the rules disappeared immediately");
    }
    return text;
  }

  private void removeAllBut(RuleTable kept) {
    tables.stream().filter(table -> table != kept && table.isPresent()).forEach(RuleTable::remove);
  }

  /** Only an agent installs these rules, so that it is enough to remove them once. */
  private void release() {
    if (!isRemoved) {
      final List<RuleTable> present = tables.stream().filter(RuleTable::isPresent).toList();
      present.forEach(RuleTable::remove);
      if (!present.isEmpty()) {
        LOGGER.info("masquerading: rules removed");
      }
      isRemoved = true;
      installed = null;
      mode = Mode.DISABLED;
    }
  }
}
