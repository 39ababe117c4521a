/**
 * The rules of netfilter by which the stack of this node masquerades what workloads send to the
 * network ({@link agent.node.netfilter.MasqueradeGuard}): by nftables where the node has it, by
 * iptables otherwise.
 */
package agent.node.netfilter;
