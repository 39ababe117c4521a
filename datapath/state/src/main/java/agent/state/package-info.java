/**
 * Keeps the state of the agent on disk: the locked state directory with checksummed JSON files that
 * are replaced atomically.
 */
package agent.state;
