/** Checks rules as they are written; a refusal names the rule and the path in it. */
package agent.policy.read;
