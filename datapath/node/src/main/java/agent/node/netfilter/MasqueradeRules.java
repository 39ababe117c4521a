package agent.node.netfilter;

import java.util.List;

/**
 * The rules of the agent, whatever keeps them.
 *
 * @param ranges what is masqueraded, of each family at most one
 * @param areFirst whether they precede the rules of others, or follow them
 * @param ports which ports flows of TCP and UDP get
 */
public record MasqueradeRules(
    List<MasqueradedRange> ranges, boolean areFirst, MasqueradePorts ports) {
  public MasqueradeRules {
    ranges = List.copyOf(ranges);
  }
}
