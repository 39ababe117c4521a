/**
 * Runs the owners of state on named threads: queued commands, stepped work and timers, measured
 * duty cycles, and the health and the repairs that they report.
 */
package agent.conductor;
