/**
 * Prepares this node: chooses its addresses and the address ranges of its endpoints, and compares
 * desired routes to workloads with those of the kernel ({@link agent.node.RouteDifference}).
 */
package agent.node;
