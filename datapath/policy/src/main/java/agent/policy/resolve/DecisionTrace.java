package agent.policy.resolve;

import agent.identity.Identity;
import agent.maps.layout.PolicyDirection;
import agent.policy.rule.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Logs why an endpoint has its policy, while an operator wants to know of all ({@code
 * PolicyTracing}) or of this one ({@code DebugPolicy}): the rules that select it and what they say
 * of each direction.
 */
public final class DecisionTrace {
  private static final Logger LOGGER = LogManager.getLogger(DecisionTrace.class);

  private final Set<Integer> endpoints = ConcurrentHashMap.newKeySet();
  private volatile boolean isEnabled;

  /** Sets whether the decisions for all endpoints are logged. */
  public void enable(boolean enabled) {
    isEnabled = enabled;
  }

  /** Sets whether the decisions for one endpoint are logged. */
  public void enable(int endpoint, boolean enabled) {
    if (enabled) {
      endpoints.add(endpoint);
    } else {
      endpoints.remove(endpoint);
    }
  }

  /** Logs the policy of an endpoint, where that is enabled. */
  public void log(int endpoint, Identity identity, ResolvedPolicy policy, List<Rule> rules) {
    if (isEnabled || endpoints.contains(endpoint)) {
      lines(endpoint, identity, policy, rules).forEach(LOGGER::info);
    }
  }

  /** Returns one line for the endpoint, each rule and each direction. */
  static List<String> lines(
      int endpoint, Identity identity, ResolvedPolicy policy, List<Rule> rules) {
    final String subject = "policy trace: endpoint " + endpoint + ": ";
    final List<String> lines = new ArrayList<>();
    lines.add(
        "%sidentity %d %s, revision %d, %d rules"
            .formatted(subject, identity.id(), identity.labels(), policy.revision(), rules.size()));
    for (int i = 0; i < rules.size(); i++) {
      final Rule rule = rules.get(i);
      lines.add(
          "%srule [%d] %s for %s: %s"
              .formatted(
                  subject,
                  i,
                  rule.labels(),
                  rule.subject(),
                  rule.subject().selects(identity.labels())
                      ? "selects it, enforces " + rule.enforced()
                      : "does not select it"));
    }
    lines.add(subject + line(PolicyDirection.INGRESS, policy.ingress()));
    lines.add(subject + line(PolicyDirection.EGRESS, policy.egress()));
    return lines;
  }

  private static String line(PolicyDirection direction, DirectionSummary summary) {
    return direction
        + (summary.enforced()
            ? ": allowed identities %s%s, denied %s%s"
                .formatted(
                    summary.allowed(),
                    summary.anyAllowed() ? " and any" : "",
                    summary.denied(),
                    summary.anyDenied() ? " and any" : "")
            : ": not enforced");
  }
}
