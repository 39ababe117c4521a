/** Reads the ring of notifications on {@code dp-events}, and the counters. */
package agent.datapath.manager.events;
