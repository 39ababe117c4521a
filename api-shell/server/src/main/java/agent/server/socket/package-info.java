/** HTTP on a Unix socket: Undertow's parser around the JDK's own channels. */
package agent.server.socket;
