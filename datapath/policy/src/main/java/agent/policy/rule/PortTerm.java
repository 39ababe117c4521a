package agent.policy.rule;

import java.util.List;

/**
 * A port, range, protocol or message type as a rule names it.
 *
 * @param text readable, for example {@code TCP/8000-8999}
 * @param matches the same in policy keys; none for a port by its name
 * @param name the name by which a port is meant; null for none
 * @param rules which requests may pass; null for all
 */
public record PortTerm(String text, List<PortMatch> matches, PortName name, RequestRules rules) {
  /** Everything. */
  public static final PortTerm ALL = new PortTerm("everything", List.of(PortMatch.ALL));

  /** Creates a term of numbers without rules of requests. */
  public PortTerm(String text, List<PortMatch> matches) {
    this(text, matches, null, null);
  }
}
