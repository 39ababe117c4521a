/**
 * What the API shows of the daemon as a whole; the launcher, which knows all parts, implements it.
 */
package agent.server.view;
