/** This node: its devices, addresses and endpoint ranges, and the routes that lead to workloads. */
package agent.node;
