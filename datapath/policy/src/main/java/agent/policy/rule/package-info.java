/** Checked rules: selectors of peers, ports, names, and rules of requests. */
package agent.policy.rule;
