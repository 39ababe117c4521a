/** Live events: a Unix socket beside that of the API, and a bounded queue for each subscriber. */
package agent.server.monitor;
