/**
 * A naive reading of the rule language, and random rules and packets, to hold every way of
 * enforcing policy against.
 */
package agent.policy.model;
