/**
 * Restores the endpoints of the previous run at start and removes the resources of endpoints that
 * no longer exist.
 */
package agent.endpoint.restore;
