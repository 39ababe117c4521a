/** Allocates IPv4 and IPv6 addresses from the pools of this node and keeps their leases. */
package agent.ipam;
