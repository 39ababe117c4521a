/** Answers whether a flow between two peers would pass, and why. */
package agent.policy.trace;
