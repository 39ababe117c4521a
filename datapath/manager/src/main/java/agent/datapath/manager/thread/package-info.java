/**
 * Runs agents on named threads with measured duty cycles, executes queued commands and stepped
 * work, and reports the health of modules.
 */
package agent.datapath.manager.thread;
