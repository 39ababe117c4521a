/** Address pools and leases of this node, for both families. */
package agent.ipam;
