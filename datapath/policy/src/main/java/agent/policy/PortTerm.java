package agent.policy;

import java.util.List;

/**
 * A port, range, protocol or message type as a rule names it.
 *
 * @param text readable, for example {@code TCP/8000-8999}
 * @param matches the same in policy keys
 */
record PortTerm(String text, List<PortMatch> matches) {
  /** Everything. */
  static final PortTerm ALL = new PortTerm("everything", List.of(PortMatch.ALL));
}
