/** The agent and its environment on the wire, for reports of faults. */
package agent.contract.debug;
