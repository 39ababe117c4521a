/** Launches the datapath and is its one door: commands go in by a proxy, futures come back. */
package agent.datapath.manager;
