/**
 * Endpoints: what is asked of them, the state machine that gets them there, and their restore; one
 * thread, {@code ep-conductor}, owns them together with policy and identities.
 */
package agent.endpoint;
