/** Security identities on the wire. */
package agent.contract.identity;
