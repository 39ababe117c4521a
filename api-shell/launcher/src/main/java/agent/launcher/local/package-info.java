/** agentctl with the parts of the agent: pinned maps and the check of rules, without a daemon. */
package agent.launcher.local;
