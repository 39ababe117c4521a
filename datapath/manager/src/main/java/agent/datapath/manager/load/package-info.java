/** Opens the node's maps and loads programs with their constants set and their maps shared. */
package agent.datapath.manager.load;
