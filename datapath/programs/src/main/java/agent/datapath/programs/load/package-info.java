/**
 * Opens or creates the maps of the node, and loads and verifies programs on the thread {@code
 * dp-loader}.
 */
package agent.datapath.programs.load;
