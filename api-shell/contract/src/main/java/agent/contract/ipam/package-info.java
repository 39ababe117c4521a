/** Address allocations on the wire. */
package agent.contract.ipam;
