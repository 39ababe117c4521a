/** Addresses of the node on the wire. */
package agent.contract.node;
