/** The options of the daemon: one table, three sources, typed values. */
package agent.launcher.options;
