/**
 * A reference implementation of the rule language with random rules and packets; tests compare
 * every enforcement of policy with it.
 */
package agent.policy.model;
