/** Services at the socket: their maps, and the programs at the hooks of a control group. */
package agent.datapath.manager.service;
