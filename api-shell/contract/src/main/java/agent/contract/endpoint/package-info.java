/** Endpoints on the wire: what is asked for and what is. */
package agent.contract.endpoint;
