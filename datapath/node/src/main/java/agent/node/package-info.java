/**
 * Prepares this node: chooses its addresses and the address ranges of its endpoints, and compares
 * desired routes to workloads with those of the kernel ({@link agent.node.RouteDifference}).
 * Reports changes of the node by events ({@link agent.node.NodeEvents}).
 */
package agent.node;
