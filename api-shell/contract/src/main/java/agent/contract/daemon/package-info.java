/** The daemon itself on the wire: status, health, configuration, metrics. */
package agent.contract.daemon;
