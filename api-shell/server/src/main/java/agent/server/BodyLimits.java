package agent.server;

import agent.datapath.spec.DatapathOptions;
import agent.policy.repository.PolicyLimits;
import agent.types.NumberOption;

/**
 * How much one request body may hold, so that it is refused while it is read and before its content
 * fills the heap. Names of fields say what their elements are; see {@link CountingParser}.
 *
 * @param rules the most rules of a policy document
 * @param peers the most elements of ingress and egress, peers that are no CIDR, ports and types
 * @param cidrs the most CIDRs and exceptions
 * @param labels the most labels of a policy document, and values of its label expressions
 * @param prefixes the most prefixes of a prefilter list
 * @param entries the most labels, options and other elements of any other body
 */
public record BodyLimits(
    long rules, long peers, long cidrs, long labels, long prefixes, long entries) {
  /** Labels, options and other elements of a body that no other limit names. */
  public static final NumberOption MAX_ENTRIES =
      new NumberOption("max-labels", 1_000, 1, 2_000_000);

  /** What the heap of the daemon has room for. */
  public static final BodyLimits DEFAULT =
      new BodyLimits(
          PolicyLimits.RULES.standard(),
          PolicyLimits.PEERS.standard(),
          PolicyLimits.CIDRS.standard(),
          PolicyLimits.LABELS.standard(),
          DatapathOptions.MAX_PREFIXES.standard(),
          MAX_ENTRIES.standard());

  private static final long MOST_BACKENDS = 4096;

  /** What the elements of an array, or the members of a map, are. */
  enum Unit {
    RULES("rules", PolicyLimits.RULES),
    PEERS("peers and ports", PolicyLimits.PEERS),
    CIDRS("CIDRs", PolicyLimits.CIDRS),
    LABELS("labels", PolicyLimits.LABELS),
    PREFIXES("prefixes", DatapathOptions.MAX_PREFIXES),
    BACKENDS("backends", "a service has no more"),
    ENTRIES("labels and options", MAX_ENTRIES);

    private final String text;
    private final String option;

    Unit(String text, NumberOption option) {
      this(text, "--" + option.name());
    }

    Unit(String text, String option) {
      this.text = text;
      this.option = option;
    }

    String text() {
      return text;
    }

    String option() {
      return option;
    }
  }

  long most(Unit unit) {
    return switch (unit) {
      case RULES -> rules;
      case PEERS -> peers;
      case CIDRS -> cidrs;
      case LABELS -> labels;
      case PREFIXES -> prefixes;
      case BACKENDS -> MOST_BACKENDS;
      case ENTRIES -> entries;
    };
  }
}
