/** Policy rules on the wire. */
package agent.contract.policy;
