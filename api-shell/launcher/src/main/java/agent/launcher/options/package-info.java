/** The daemon's options: one table, three sources, typed values. */
package agent.launcher.options;
