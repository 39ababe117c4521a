/**
 * Writes all kernel maps and replaces links on the thread {@code dp-conductor}, from a bounded
 * queue of commands.
 */
package agent.datapath.manager.conductor;
