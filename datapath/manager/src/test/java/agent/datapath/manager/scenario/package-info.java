/** Packets, one at a time through the shipped programs, and what becomes of them. */
package agent.datapath.manager.scenario;
