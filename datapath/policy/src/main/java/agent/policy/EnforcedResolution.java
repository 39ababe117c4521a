package agent.policy;

import agent.identity.Identity;

/**
 * Resolves policies as they are to be enforced now. Only the engine's thread changes how; any
 * thread may read the mode.
 */
final class EnforcedResolution {
  private final SelectorCache selectors;
  private final AllowLocalhost allowLocalhost;
  private volatile EnforcementMode mode;
  private volatile boolean isTraced;

  EnforcedResolution(SelectorCache selectors, PolicyContext context) {
    this.selectors = selectors;
    allowLocalhost = context.allowLocalhost();
    mode = context.mode();
  }

  EnforcementMode mode() {
    return mode;
  }

  /** Changes the mode, unless the check with the new mode fails. */
  void change(EnforcementMode next, Runnable check) {
    final EnforcementMode before = mode;
    mode = next;
    try {
      check.run();
    } catch (RuntimeException e) {
      mode = before;
      throw e;
    }
  }

  /** Sets whether each resolution is logged. */
  void trace(boolean isOn) {
    isTraced = isOn;
  }

  ResolvedPolicy of(Identity identity, PolicyRepository rules) {
    final ResolvedPolicy policy =
        new PolicyResolver(selectors, mode, allowLocalhost)
            .resolve(identity, rules.rules(), rules.revision());
    if (isTraced) {
      PolicyTrace.log(identity, rules, mode, policy);
    }
    return policy;
  }
}
