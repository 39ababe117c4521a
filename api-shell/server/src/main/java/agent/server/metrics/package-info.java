/** Metrics: where they come from, and their text forms. */
package agent.server.metrics;
