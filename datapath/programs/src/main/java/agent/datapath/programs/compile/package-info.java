/** Reads the shipped BPF objects, and compiles objects of other feature sets with clang. */
package agent.datapath.programs.compile;
