/** Passes the benchmarks the daemon's own default configuration. */
package agent.launcher;
