/** A client of the management API over its Unix socket. */
package agent.client;
