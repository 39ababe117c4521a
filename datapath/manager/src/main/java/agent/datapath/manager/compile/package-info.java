/** Objects of programs: the shipped ones, and those that clang makes for another feature set. */
package agent.datapath.manager.compile;
