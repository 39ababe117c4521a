/** Defines rules as received, before any check: names and nulls are those of the JSON. */
package agent.policy.spec;
