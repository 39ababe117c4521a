/** Rules as they are written, before anything is checked: names and nulls are those of the JSON. */
package agent.policy.spec;
