/** Gives the benchmarks the daemon's own default configuration. */
package agent.launcher;
