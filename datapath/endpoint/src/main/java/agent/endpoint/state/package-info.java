/**
 * Holds the state of endpoints: stored records, the state machine, options, and the snapshots that
 * the API returns.
 */
package agent.endpoint.state;
