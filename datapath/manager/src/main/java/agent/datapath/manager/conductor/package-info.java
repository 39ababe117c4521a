/**
 * The one writer: commands in a queue, carried out a bounded number per cycle on {@code
 * dp-conductor}.
 */
package agent.datapath.manager.conductor;
