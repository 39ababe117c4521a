package agent.node.netfilter;

import agent.node.netfilter.MasqueradeGuard.Mode;

/** What keeps rules of the agent in the kernel; for one thread. */
interface RuleTable {
  /** Returns the mode in which these rules masquerade. */
  Mode mode();

  /**
   * Installs the rules in the place of those that are there, in one step of each family.
   *
   * @throws agent.types.OperationException with what the tool says; nothing has changed in that
   *     family
   */
  void install(MasqueradeRules rules);

  /**
   * Returns the rules of the agent as the kernel has them now; the same text for the same rules.
   *
   * @throws agent.types.OperationException where the tool cannot read
   */
  String read();

  /**
   * Returns what the rules have dropped since they were installed.
   *
   * @throws agent.types.OperationException where that cannot be read
   */
  Refusals refused();

  /** Returns whether the rules may differ from those that were read last. */
  boolean mayHaveChanged();

  /** Returns whether anything of the agent is there. */
  boolean isPresent();

  /**
   * Removes what is there of the agent.
   *
   * @throws agent.types.OperationException with what the tool says
   */
  void remove();
}
