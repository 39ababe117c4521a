/** Bodies of the names that policy uses. */
package agent.contract.fqdn;
