/**
 * Resolves rules and selectors to the policy map entries of each endpoint, and each change to a
 * difference.
 */
package agent.policy;
