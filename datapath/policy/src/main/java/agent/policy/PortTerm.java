package agent.policy;

import java.util.List;

/**
 * A port, range, protocol or message type as a rule names it.
 *
 * @param text readable, for example {@code TCP/8000-8999}
 * @param matches the same in policy keys
 * @param rules which requests may pass; null for all
 */
record PortTerm(String text, List<PortMatch> matches, RequestRules rules) {
  /** Everything. */
  static final PortTerm ALL = new PortTerm("everything", List.of(PortMatch.ALL));

  /** Creates a term without rules of requests. */
  PortTerm(String text, List<PortMatch> matches) {
    this(text, matches, null);
  }
}
