/**
 * What the API needs to know of the whole daemon; the launcher, which knows all parts, tells it.
 */
package agent.server.view;
