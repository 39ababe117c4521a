/** Resolves rules to the policy map entries of an endpoint, and looks up in them as programs do. */
package agent.policy.resolve;
