/** Checks requests that create or change an endpoint, and applies them to its record. */
package agent.endpoint.request;
