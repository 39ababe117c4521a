/** The log of the process: where its lines go, and which of them. */
package agent.launcher.log;
