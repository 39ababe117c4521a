package agent.policy;

import agent.identity.Identity;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Logs how the policy of an identity is resolved, for option {@code PolicyTracing}. */
final class PolicyResolutionLog {
  private static final Logger LOGGER = LogManager.getLogger(PolicyResolutionLog.class);

  private PolicyResolutionLog() {}

  /** Logs the policy, and one line for each rule that selects the identity. */
  static void log(
      Identity identity, PolicyRepository rules, EnforcementMode mode, ResolvedPolicy policy) {
    LOGGER.info(
        "policy of identity {} {}: revision {}, enforcement {}, ingress {}, egress {}, {} entries",
        identity.id(),
        identity.labels(),
        rules.revision(),
        mode.text(),
        text(policy.ingress()),
        text(policy.egress()),
        policy.entries().size());
    final List<Rule> all = rules.rules();
    for (int i = 0; i < all.size(); i++) {
      final Rule rule = all.get(i);
      if (rule.subject().selects(identity.labels())) {
        LOGGER.info(
            "policy of identity {}: rule [{}] {} selects it: enforces {}",
            identity.id(),
            i,
            rule.labels(),
            rule.enforced());
      }
    }
  }

  private static String text(DirectionSummary direction) {
    return direction.enforced() ? "enforced" : "open";
  }
}
