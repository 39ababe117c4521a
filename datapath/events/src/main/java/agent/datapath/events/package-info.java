/**
 * Reads the ring buffer of events on the thread {@code dp-events}, and the packet counters on
 * demand.
 */
package agent.datapath.events;
